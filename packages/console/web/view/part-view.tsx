/** Text and files as they were given: nothing in them is markup, and nothing is fetched from elsewhere. */

import type { ReactElement } from "react";
import type { FilePart, Part } from "@capstan/core";
import { Icon } from "./icon.tsx";
import { isSafeUrl } from "./safe-url.ts";
import { SHOWN_IMAGES, StoredFile } from "./stored-file.tsx";

export function PartView({ part }: { readonly part: Part }): ReactElement | null {
  if (part.type === "text") return <div>{part.text}</div>;
  if (part.type === "file") return <FileView part={part} />;
  return null;
}

export function FileView({ part: { mediaType, data, name } }: { readonly part: FilePart }): ReactElement {
  const title = name ?? mediaType;
  if (data.type === "blob") return <StoredFile hash={data.hash} size={data.size} mediaType={mediaType} title={title} />;
  if (data.type === "base64" && SHOWN_IMAGES.test(mediaType))
    return (
      <img
        src={`data:${mediaType};base64,${data.base64}`}
        alt={title}
        className="max-h-80 max-w-full rounded-lg border border-line"
      />
    );
  return (
    <p className="inline-flex max-w-full items-center gap-2 rounded-lg border border-line bg-sunken px-2.5 py-1 text-[13px]">
      <Icon name="file" size={14} />
      {data.type === "url" && isSafeUrl(data.url) ? (
        <a href={data.url} target="_blank" rel="noopener noreferrer nofollow" className="truncate text-info underline">
          {name ?? data.url}
        </a>
      ) : (
        <span className="truncate">{title}</span>
      )}
      <span className="shrink-0 text-muted">{mediaType}</span>
    </p>
  );
}

/** A file that the log names by hash: fetched with the token when somebody asks for it, never by itself. */

import { createContext, type ReactElement, use, useEffect, useState } from "react";
import { messageOf } from "../api/connection.ts";
import { useShared } from "./console-context.ts";
import { Icon } from "./icon.tsx";

/** Pictures that cannot hold a program. */
export const SHOWN_IMAGES: RegExp = /^image\/(png|jpeg|gif|webp)$/;

/** The session whose log is shown. */
export const SessionIdContext = createContext("");

type Props = { readonly hash: string; readonly size: number; readonly mediaType: string; readonly title: string };

export function StoredFile({ hash, size, mediaType, title }: Props): ReactElement {
  const { connection } = useShared();
  const sessionId = use(SessionIdContext);
  const [url, setUrl] = useState<string>();
  const [problem, setProblem] = useState<string>();
  const isImage = SHOWN_IMAGES.test(mediaType);
  useEffect(() => () => (url === undefined ? undefined : URL.revokeObjectURL(url)), [url]);
  const fetchIt = async (): Promise<void> => {
    try {
      const response = await connection.open(`sessions/${encodeURIComponent(sessionId)}/blobs/${hash}`, {});
      const bytes = await response.arrayBuffer();
      setUrl(URL.createObjectURL(new Blob([bytes], { type: isImage ? mediaType : "application/octet-stream" })));
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  if (url !== undefined && isImage)
    return <img src={url} alt={title} className="max-h-80 max-w-full rounded-lg border border-line" />;
  return (
    <p className="inline-flex max-w-full items-center gap-2 rounded-lg border border-line bg-sunken px-2.5 py-1 text-[13px]">
      <Icon name="file" size={14} />
      <span className="truncate">{title}</span>
      <span className="shrink-0 text-muted">{problem ?? `${Math.ceil(size / 1024)} KB`}</span>
      {url === undefined ? (
        <button type="button" className="button quiet min-h-7 px-1.5 text-info" onClick={() => void fetchIt()}>
          {isImage ? "Show" : "Fetch"}
        </button>
      ) : (
        <a href={url} download={title} className="button quiet min-h-7 px-1.5 text-info">
          Save
        </a>
      )}
    </p>
  );
}

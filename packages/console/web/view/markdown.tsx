/** Text of a model as Markdown. Inert: HTML in it is text, links are checked, images are links that nothing follows. */

import { memo, type ReactElement, type ReactNode } from "react";
import { type Components, Streamdown } from "streamdown";
import { isSafeUrl } from "./safe-url.ts";

/** Above this a text is shown as it is: to take it apart again for each delta would hold the page up. */
const MOST_CHARS = 200_000;

const COMPONENTS: Components = {
  a: ({ href, children }) => <SafeLink href={href}>{children}</SafeLink>,
  img: ({ src, alt }) => (
    <SafeLink
      href={typeof src === "string" ? src : undefined}
    >{`[image: ${alt === undefined || alt === "" ? "unnamed" : alt}]`}</SafeLink>
  ),
  h1: ({ children }) => <h2>{children}</h2>,
  h2: ({ children }) => <h3>{children}</h3>,
  h3: ({ children }) => <h4>{children}</h4>,
  h4: ({ children }) => <h4>{children}</h4>,
  h5: ({ children }) => <h4>{children}</h4>,
  h6: ({ children }) => <h4>{children}</h4>,
  p: ({ children }) => <p>{children}</p>,
  ul: ({ children }) => <ul>{children}</ul>,
  ol: ({ children, start }) => <ol start={start}>{children}</ol>,
  li: ({ children }) => <li>{children}</li>,
  blockquote: ({ children }) => <blockquote>{children}</blockquote>,
  hr: () => <hr />,
  strong: ({ children }) => <strong>{children}</strong>,
  code: ({ children }) => <code>{children}</code>,
  inlineCode: ({ children }) => <code>{children}</code>,
  pre: ({ children }) => <pre tabIndex={0}>{children}</pre>,
  table: ({ children }) => (
    <div className="table-scroll">
      <table>{children}</table>
    </div>
  ),
  thead: ({ children }) => <thead>{children}</thead>,
  tbody: ({ children }) => <tbody>{children}</tbody>,
  tr: ({ children }) => <tr>{children}</tr>,
  th: ({ children }) => <th>{children}</th>,
  td: ({ children }) => <td>{children}</td>,
};

export const Markdown = memo(function Markdown({
  text,
  live = false,
}: {
  readonly text: string;
  readonly live?: boolean;
}): ReactElement {
  if (text.length > MOST_CHARS) return <div className="code">{text}</div>;
  return (
    <Streamdown
      className={`prose ${live ? "caret" : ""}`}
      mode={live ? "streaming" : "static"}
      components={COMPONENTS}
      rehypePlugins={[]}
      skipHtml={false}
      controls={false}
      linkSafety={{ enabled: false }}
      urlTransform={(url) => url}
    >
      {text}
    </Streamdown>
  );
});

/** What leads elsewhere says where; what is no address is text. */
function SafeLink({
  href,
  children,
}: {
  readonly href: string | undefined;
  readonly children: ReactNode;
}): ReactElement {
  if (!isSafeUrl(href)) return <span>{children}</span>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow" title={href}>
      {children}
    </a>
  );
}

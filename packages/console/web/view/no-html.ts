/** Stands for the reader of HTML inside of Markdown, which this page has no use for. */

// oxlint-disable-next-line import/no-default-export -- as the package that it stands for
export default function noHtml(): () => void {
  return () => undefined;
}

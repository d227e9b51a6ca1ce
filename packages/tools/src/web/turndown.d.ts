/** The part of `turndown` that is used; the package brings no types. */

declare module "turndown" {
  class TurndownService {
    constructor(options?: Readonly<Record<string, string>>);
    remove(names: readonly string[]): this;
    /** Takes HTML, or a node of any document. */
    turndown(node: object): string;
  }
  export = TurndownService;
}

/** Something under a small title. */

import type { ReactElement, ReactNode } from "react";

export function Group({ title, children }: { readonly title: string; readonly children: ReactNode }): ReactElement {
  return (
    <section aria-label={title}>
      <h3 className="label mb-2">{title}</h3>
      {children}
    </section>
  );
}

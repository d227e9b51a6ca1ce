/** The way back to the list of sessions on a narrow screen. */

import type { ReactElement } from "react";
import { hashOf } from "../data/route.ts";
import { Icon } from "./icon.tsx";

/** Back to the list, where that is not beside. */
export function BackToList(): ReactElement {
  return (
    <a href={hashOf({ page: "home" })} aria-label="All sessions" className="button quiet -ml-2 px-1.5 md:hidden">
      <Icon name="back" size={18} />
    </a>
  );
}

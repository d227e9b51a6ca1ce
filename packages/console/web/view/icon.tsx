/** The few pictures of the console, drawn with lines in the colour of the text. */

import type { ReactElement } from "react";

const PATHS = {
  back: "M15 5l-7 7 7 7",
  bolt: "M13 3L5 14h6l-1 7 8-11h-6z",
  chat: "M4 6.5A2.5 2.5 0 016.5 4h11A2.5 2.5 0 0120 6.5v7a2.5 2.5 0 01-2.5 2.5H10l-5 4v-4.2A2.5 2.5 0 014 13.5z",
  check: "M5 12.5l4.5 4.5L19 7.5",
  chevron: "M9 6l6 6-6 6",
  copy: "M9 9h10v11H9zM5 15V4h10",
  cross: "M6 6l12 12M18 6L6 18",
  edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  eye: "M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12zM12 9.2a2.8 2.8 0 110 5.6 2.8 2.8 0 010-5.6z",
  file: "M6 3h8l4 4v14H6zM14 3v4h4",
  fork: "M7 4v16M7 14c0-5 10-3 10-9M4.5 6.5L7 4l2.5 2.5M14.5 7.5L17 5l2.5 2.5",
  hand: "M8 13V5.5a1.5 1.5 0 013 0V11V4a1.5 1.5 0 013 0v7V5.5a1.5 1.5 0 013 0V14c0 4-2.5 7-6 7-3 0-4.3-1.6-5.8-4.4L4 14.2c-.8-1.4 1-2.6 2.1-1.4z",
  inbox: "M4 13l3-8h10l3 8v6H4zM4 13h5l1.5 2.5h3L15 13h5",
  link: "M10 14a4 4 0 005.7 0l3-3A4 4 0 0013 5.3l-1 1M14 10a4 4 0 00-5.7 0l-3 3A4 4 0 0011 18.7l1-1",
  list: "M5 6h14M5 12h14M5 18h14",
  logout: "M14 4h5v16h-5M10 8l-4 4 4 4M6 12h9",
  moon: "M19.5 14.5A8 8 0 019.5 4.5a8 8 0 1010 10z",
  panel: "M4 5h16v14H4zM15 5v14",
  plan: "M5 6.5l1.5 1.5L9 5M5 12.5l1.5 1.5L9 11M12 7h7M12 13h7M5 19h14",
  plus: "M12 5v14M5 12h14",
  search: "M10.5 4a6.5 6.5 0 110 13 6.5 6.5 0 010-13zM15.5 15.5L20 20",
  send: "M12 19V5M6 11l6-6 6 6",
  stop: "M7 7h10v10H7z",
  sun: "M12 8a4 4 0 110 8 4 4 0 010-8zM12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M18.7 5.3l-1.4 1.4M6.7 17.3l-1.4 1.4",
  terminal: "M4 5h16v14H4zM7.5 9.5L10.5 12l-3 2.5M12.5 15h4",
  think: "M9 18h6M10 21h4M12 3a6 6 0 00-3.5 10.9V16h7v-2.1A6 6 0 0012 3z",
  tree: "M6 4v12a2 2 0 002 2h4M6 9h6M12 6.5h7v5h-7zM12 15.5h7v5h-7z",
  web: "M12 3a9 9 0 110 18 9 9 0 010-18zM3 12h18M12 3c3 3 3 15 0 18M12 3c-3 3-3 15 0 18",
  wrench: "M14.5 6.5a4 4 0 015-1l-3 3 .5 1.5 1.5.5 3-3a4 4 0 01-5.5 4.8L9 19.5A2.1 2.1 0 016 16.5l7-7a4 4 0 011.5-3z",
} as const;

export type IconName = keyof typeof PATHS;

/** Decoration only: whatever it stands in has a name of its own. */
export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }): ReactElement {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.7"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      className="shrink-0"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}

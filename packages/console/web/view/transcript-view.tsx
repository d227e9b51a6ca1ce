/** The conversation: stays at its end while somebody is there, reads further up on demand, draws only what is near. */

import { type ReactElement, type RefObject, useEffect, useLayoutEffect, useRef, useState } from "react";
import type { Feed, Notice, SessionFeed } from "../data/session-feed.ts";
import type { Bucket } from "../data/transcript.ts";
import { BucketView } from "./bucket-view.tsx";
import { Icon } from "./icon.tsx";
import { ItemView, Notes } from "./item-view.tsx";

/** So near to the end one follows it; so near to the top more is read. */
const NEAR_END = 80;
const NEAR_TOP = 1_500;

type Props = { readonly feed: SessionFeed; readonly shown: Feed; readonly seq: number | undefined };

export function TranscriptView({ feed, shown, seq }: Props): ReactElement {
  const { buckets, live, notices, after, loadingEarlier, caughtUp } = shown;
  const box = useRef<HTMLDivElement>(null);
  const inside = useRef<HTMLDivElement>(null);
  const { atEnd, toEnd, look } = useEnd(box, inside, seq === undefined);
  useJump(box, feed, shown, seq);
  const scrolled = (): void => {
    look();
    const { current } = box;
    if (current === null || current.scrollTop > NEAR_TOP || after === 0 || !caughtUp || loadingEarlier) return;
    // at the very top a browser keeps nothing in its place when something comes above
    if (current.scrollTop === 0) current.scrollTop = 1;
    void feed.loadEarlier();
  };
  const empty = caughtUp && after === 0 && buckets.length === 0 && live.length === 0;
  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={box}
        onScroll={scrolled}
        className="h-full overflow-y-auto"
        tabIndex={0}
        role="region"
        aria-label="Conversation"
      >
        <div ref={inside} className="mx-auto max-w-3xl px-4 py-5 sm:px-6">
          {after > 0 && (
            <button type="button" className="button quiet mx-auto mb-4 flex" onClick={() => void feed.loadEarlier()}>
              {loadingEarlier ? "Reading…" : "Earlier messages"}
            </button>
          )}
          {buckets.map((bucket, index) => (
            <BucketView key={bucket.id} bucket={bucket} box={box} always={index >= buckets.length - 2} />
          ))}
          <div aria-live="polite" aria-atomic="false">
            {live.map((item) => (
              <ItemView key={item.id} item={item} />
            ))}
          </div>
          <Recent notices={notices} buckets={buckets} />
          {empty && <p className="py-16 text-center text-muted">Nothing has been said yet.</p>}
        </div>
      </div>
      {!atEnd && (
        <button
          type="button"
          onClick={toEnd}
          className="button absolute bottom-3 left-1/2 -translate-x-1/2 rounded-full shadow-card"
        >
          <span className="rotate-90">
            <Icon name="chevron" size={14} />
          </span>
          Newest
        </button>
      )}
    </div>
  );
}

/** Live notices of the run that is going on. */
function Recent({
  notices,
  buckets,
}: {
  readonly notices: readonly Notice[];
  readonly buckets: readonly Bucket[];
}): ReactElement | null {
  const ended = buckets.at(-1)?.items.findLast(({ kind }) => kind === "end")?.seq ?? 0;
  const recent = notices.filter(({ seq, severity }) => seq >= ended && severity !== "info");
  return recent.length === 0 ? null : <Notes notices={recent} />;
}

type End = { readonly atEnd: boolean; readonly toEnd: () => void; readonly look: () => void };

function useEnd(box: RefObject<HTMLDivElement | null>, inside: RefObject<HTMLDivElement | null>, begin: boolean): End {
  const following = useRef(begin);
  const [atEnd, setAtEnd] = useState(true);
  const toEnd = (): void => {
    following.current = true;
    box.current?.scrollTo({ top: box.current.scrollHeight });
  };
  const look = (): void => {
    const { scrollTop, scrollHeight, clientHeight } = box.current ?? { scrollTop: 0, scrollHeight: 0, clientHeight: 0 };
    following.current = scrollHeight - scrollTop - clientHeight < NEAR_END;
    setAtEnd(following.current);
  };
  useLayoutEffect(() => {
    const [outer, inner] = [box.current, inside.current];
    if (outer === null || inner === null) return undefined;
    const grown = new ResizeObserver(() => {
      if (following.current) outer.scrollTop = outer.scrollHeight;
    });
    grown.observe(inner);
    grown.observe(outer);
    return () => grown.disconnect();
  }, [box, inside]);
  return { atEnd, toEnd, look };
}

/** To what a fact of the inspector shows in the conversation. */
function useJump(box: RefObject<HTMLDivElement | null>, feed: SessionFeed, shown: Feed, seq: number | undefined): void {
  const done = useRef<number>(undefined);
  const { after, caughtUp, buckets } = shown;
  useEffect(() => {
    if (seq === undefined || !caughtUp || done.current === seq) return;
    if (seq <= after) return void feed.loadEarlier(after - seq + 100);
    done.current = seq;
    const bucket = buckets.findLast(({ items }) => items.some((item) => item.seq <= seq));
    const item = bucket?.items.findLast((one) => one.seq <= seq);
    const find = (): Element | null | undefined =>
      box.current?.querySelector(`[data-bucket="${bucket?.id}"] [data-seq="${item?.seq}"]`);
    box.current?.querySelector(`[data-bucket="${bucket?.id}"]`)?.scrollIntoView({ block: "start" });
    requestAnimationFrame(() => requestAnimationFrame(() => find()?.scrollIntoView({ block: "center" })));
  }, [seq, after, caughtUp, buckets, feed, box]);
}

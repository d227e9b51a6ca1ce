/** Some items that lie together: drawn while they are near what is in sight, a gap of the same height otherwise. */

import { memo, type ReactElement, type RefObject, useLayoutEffect, useRef, useState } from "react";
import type { Bucket } from "../data/transcript.ts";
import { ItemView } from "./item-view.tsx";

/** Guess for an item that was never drawn. */
const ITEM_HEIGHT = 70;
const BEYOND = "1600px 0px";

type Props = { readonly bucket: Bucket; readonly box: RefObject<HTMLElement | null>; readonly always: boolean };

export const BucketView = memo(function BucketView({ bucket, box, always }: Props): ReactElement {
  const place = useRef<HTMLDivElement>(null);
  const [near, setNear] = useState(always);
  const [height, setHeight] = useState(bucket.items.length * ITEM_HEIGHT);
  const drawn = near || always;
  useLayoutEffect(() => {
    const { current } = place;
    if (current === null) return undefined;
    const seen = new IntersectionObserver(
      (entries) => {
        const entry = entries.at(-1);
        if (entry === undefined) return;
        // measured when it goes: the gap takes exactly its place
        if (!entry.isIntersecting && entry.boundingClientRect.height > 0) setHeight(entry.boundingClientRect.height);
        setNear(entry.isIntersecting);
      },
      { root: box.current, rootMargin: BEYOND },
    );
    seen.observe(current);
    return () => seen.disconnect();
  }, [box]);
  return (
    <div ref={place} data-bucket={bucket.id} data-drawn={drawn} style={drawn ? undefined : { height }}>
      {drawn && bucket.items.map((item) => <ItemView key={item.id} item={item} />)}
    </div>
  );
});

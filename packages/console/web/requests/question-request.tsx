/** Questions with options; an answer of one's own is always possible. */

import { type FormEvent, type ReactElement, useId, useState } from "react";
import type { QuestionItem, RequestBody } from "@capstan/core";
import type { Respond } from "./request-card.tsx";

type Body = Extract<RequestBody, { readonly type: "question" }>;
type Chosen = { readonly labels: readonly string[]; readonly other: string; readonly otherOn: boolean };
const NOTHING: Chosen = { labels: [], other: "", otherOn: false };

export function QuestionRequest({ body, respond }: { readonly body: Body; readonly respond: Respond }): ReactElement {
  const [chosen, setChosen] = useState<{ readonly [header: string]: Chosen }>({});
  const of = (header: string): Chosen => chosen[header] ?? NOTHING;
  const done = body.questions.every(({ header }) => valuesOf(of(header)).length > 0);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const answers = body.questions.map(({ header, multiSelect }) => {
      const values = valuesOf(of(header));
      return [header, multiSelect ? values : (values[0] ?? "")] as const;
    });
    respond({ type: "question", answers: Object.fromEntries(answers) });
  };
  return (
    <form onSubmit={submit} className="space-y-4">
      {body.questions.map((item) => (
        <Question
          key={item.header}
          item={item}
          chosen={of(item.header)}
          choose={(next) => setChosen({ ...chosen, [item.header]: next })}
        />
      ))}
      <button type="submit" className="button primary" disabled={!done}>
        Answer
      </button>
    </form>
  );
}

type Props = { readonly item: QuestionItem; readonly chosen: Chosen; readonly choose: (chosen: Chosen) => void };

function Question({ item, chosen, choose }: Props): ReactElement {
  const { header, question, multiSelect, options } = item;
  const name = useId();
  const type = multiSelect ? "checkbox" : "radio";
  const toggle = (label: string): void => {
    if (!multiSelect) return choose({ ...chosen, labels: [label], otherOn: false });
    const without = chosen.labels.filter((one) => one !== label);
    choose({ ...chosen, labels: without.length < chosen.labels.length ? without : [...without, label] });
  };
  const setOther = (other: string): void =>
    choose({ ...chosen, other, otherOn: true, labels: multiSelect ? chosen.labels : [] });
  const box =
    "flex cursor-pointer items-start gap-2.5 rounded-lg border border-line bg-raised px-3 py-2 has-checked:border-accent has-checked:bg-accent-wash";
  return (
    <fieldset>
      <legend className="mb-1.5 text-[14.5px] font-semibold">
        <span className="label mr-2">{header}</span>
        {question}
      </legend>
      <div className="grid gap-1.5 sm:grid-cols-2">
        {options.map(({ label, description }) => (
          <label key={label} className={box}>
            <input
              type={type}
              name={name}
              className="mt-1 accent-accent"
              checked={chosen.labels.includes(label)}
              onChange={() => toggle(label)}
            />
            <span className="min-w-0">
              <span className="block font-semibold break-words">{label}</span>
              <span className="block text-[12.5px] break-words text-muted">{description}</span>
            </span>
          </label>
        ))}
        <div className={`${box} sm:col-span-2`}>
          <input
            type={type}
            name={name}
            aria-label={`${header}: something else`}
            className="mt-1.5 accent-accent"
            checked={chosen.otherOn}
            onChange={(event) =>
              choose({ ...chosen, otherOn: event.target.checked, labels: multiSelect ? chosen.labels : [] })
            }
          />
          <input
            aria-label={`${header}: own words`}
            placeholder="Something else…"
            value={chosen.other}
            onChange={(event) => setOther(event.target.value)}
            className="w-full bg-transparent py-0.5 outline-none placeholder:text-muted"
          />
        </div>
      </div>
    </fieldset>
  );
}

function valuesOf({ labels, other, otherOn }: Chosen): readonly string[] {
  return otherOn && other.trim() !== "" ? [...labels, other.trim()] : labels;
}

/** A form of a tool or server: fields for a flat schema, JSON for anything else. */

import { type FormEvent, type ReactElement, useId, useState } from "react";
import type { Json, RequestBody } from "@capstan/core";
import { formContent, type FormField, formFields } from "../data/form-fields.ts";
import { isSafeUrl } from "../view/safe-url.ts";
import { parsed } from "./permission-request.tsx";
import type { Respond } from "./request-card.tsx";

type Body = Extract<RequestBody, { readonly type: "form" }>;

export function FormRequest({ body, respond }: { readonly body: Body; readonly respond: Respond }): ReactElement {
  const { origin, message, schema, url } = body;
  const fields = formFields(schema);
  const [filled, setFilled] = useState<{ readonly [name: string]: string | boolean }>({});
  const [json, setJson] = useState("");
  const whole = fields === undefined ? parsed(json)?.value : formContent(fields, filled);
  const content: Json | undefined = schema === undefined && json === "" ? null : whole;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (content !== undefined) respond({ type: "form", ...(content !== null && { content }) });
  };
  return (
    <form onSubmit={submit} className="space-y-3">
      <p className="text-[14.5px] break-words whitespace-pre-wrap">{message}</p>
      <p className="text-[12.5px] text-muted">Asked by {origin}</p>
      {url !== undefined && <Address url={url} />}
      {fields?.map((field) => (
        <Field
          key={field.name}
          field={field}
          value={filled[field.name] ?? field.initial}
          change={(value) => setFilled({ ...filled, [field.name]: value })}
        />
      ))}
      {fields === undefined && schema !== undefined && (
        <textarea
          aria-label="Content as JSON"
          value={json}
          rows={4}
          onChange={(event) => setJson(event.target.value)}
          className="field code"
        />
      )}
      <div className="flex gap-2">
        <button type="submit" className="button primary" disabled={content === undefined}>
          {url === undefined ? "Send" : "Done"}
        </button>
        <button type="button" className="button danger" onClick={() => respond({ type: "form", decline: true })}>
          Decline
        </button>
      </div>
    </form>
  );
}

/** The host stands in front: it is what one has to trust. */
function Address({ url }: { readonly url: string }): ReactElement {
  if (!isSafeUrl(url)) return <p className="code well">{url}</p>;
  return (
    <p className="rounded-lg border border-line bg-raised px-3 py-2">
      <span className="label mr-2">Opens {new URL(url).host}</span>
      <a href={url} target="_blank" rel="noopener noreferrer nofollow" className="break-all text-info underline">
        {url}
      </a>
    </p>
  );
}

type FieldProps = {
  readonly field: FormField;
  readonly value: string | boolean;
  readonly change: (value: string | boolean) => void;
};

function Field({ field, value, change }: FieldProps): ReactElement {
  const id = useId();
  const { title, description, required, type } = field;
  const label = (
    <span className="text-[13px] font-semibold">
      {title}
      {required && (
        <span className="text-bad" aria-hidden="true">
          {" *"}
        </span>
      )}
    </span>
  );
  return (
    <div>
      {type === "boolean" ? (
        <label className="flex cursor-pointer items-center gap-2">
          <input
            type="checkbox"
            className="accent-accent"
            checked={value === true}
            onChange={(event) => change(event.target.checked)}
          />
          {label}
        </label>
      ) : (
        <>
          <label htmlFor={id} className="mb-1 block">
            {label}
          </label>
          <Control id={id} field={field} value={String(value)} change={change} />
        </>
      )}
      {description !== undefined && <p className="mt-0.5 text-[12.5px] text-muted">{description}</p>}
    </div>
  );
}

type ControlProps = {
  readonly id: string;
  readonly field: FormField;
  readonly value: string;
  readonly change: (value: string) => void;
};

function Control({ id, field: { type, choices, required }, value, change }: ControlProps): ReactElement {
  if (type === "choice")
    return (
      <select
        id={id}
        required={required}
        value={value}
        onChange={(event) => change(event.target.value)}
        className="field"
      >
        <option value="">choose…</option>
        {choices.map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
      </select>
    );
  if (type === "json")
    return (
      <textarea
        id={id}
        required={required}
        value={value}
        rows={3}
        onChange={(event) => change(event.target.value)}
        className="field code"
      />
    );
  const numeric = type !== "text";
  return (
    <input
      id={id}
      required={required}
      inputMode={numeric ? "decimal" : "text"}
      value={value}
      onChange={(event) => change(event.target.value)}
      className="field"
    />
  );
}

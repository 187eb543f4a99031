import { useState } from 'react';
import { exampleOf } from '../../api/example.ts';
import { ActionForm } from '../../components/action-form.tsx';
import { Button } from '../../components/button.tsx';
import { RequestExample } from '../../components/code.tsx';
import { CheckField, SelectField, TextArea, TextField } from '../../components/field.tsx';
import { useAction } from '../../components/use-action.ts';
import { useSession } from '../../session/context.tsx';

/** The values of a form for a webhook. */
export interface WebhookValues {
  name: string;
  url: string;
  events: string[];
  isActive: boolean;
  /** Null for none. */
  filter: string | null;
  payload: 'full' | 'thin';
  signature: 'hmac' | 'ed25519';
  ordering: 'none' | 'subject';
}

interface WebhookFormProps {
  initial: WebhookValues;
  submitLabel: string;
  /** The id of a webhook that is changed. */
  id?: string;
  onSubmit(values: WebhookValues): Promise<unknown>;
}

const payloads = [
  { value: 'full', label: 'The whole event' },
  { value: 'thin', label: 'Thin' },
];
const signatures = [
  { value: 'hmac', label: 'HMAC, with a secret' },
  { value: 'ed25519', label: 'Ed25519, with a public key' },
];
const orderings = [
  { value: 'none', label: 'As they come' },
  { value: 'subject', label: 'One after the other about the same thing' },
];

/** The values of a webhook that does not exist yet. */
export const newWebhookValues: WebhookValues = {
  name: '',
  url: '',
  events: ['workflow.run.completed'],
  isActive: true,
  filter: null,
  payload: 'full',
  signature: 'hmac',
  ordering: 'none',
};

/** The fields of a webhook that can be chosen. */
export function WebhookForm({ initial, submitLabel, id, onSubmit }: WebhookFormProps) {
  const { environment } = useSession();
  const [name, setName] = useState(initial.name);
  const [url, setUrl] = useState(initial.url);
  const [events, setEvents] = useState(initial.events.join('\n'));
  const [isActive, setActive] = useState(initial.isActive);
  const [filter, setFilter] = useState(initial.filter ?? '');
  const [payload, setPayload] = useState(initial.payload);
  const [signature, setSignature] = useState(initial.signature);
  const [ordering, setOrdering] = useState(initial.ordering);
  const body = {
    name,
    url,
    events: events.split(/[\s,]+/).filter(Boolean),
    isActive,
    filter: filter.trim() || null,
    payload,
    signature,
    ordering,
  };
  const submit = useAction(() => onSubmit(body));
  return (
    <ActionForm action={submit}>
      <TextField label="Name" required value={name} onChange={({ target }) => setName(target.value)} />
      <TextField
        label="URL"
        type="url"
        required
        placeholder="https://example.com/webhooks"
        value={url}
        onChange={({ target }) => setUrl(target.value)}
      />
      <TextArea
        label="Events"
        hint="A type on each line, or * for all. The catalogue on the page of webhooks lists them."
        value={events}
        onChange={({ target }) => setEvents(target.value)}
      />
      <TextArea
        label="Filter"
        hint='An expression over the event, such as event.data.status == "FAILED". Only events for which it is true are sent.'
        className="font-mono text-xs"
        rows={2}
        value={filter}
        onChange={({ target }) => setFilter(target.value)}
      />
      <SelectField
        label="Payload"
        hint="A thin body has only the ids, and your receiver reads the rest through the API."
        options={payloads}
        value={payload}
        onChange={({ target }) => setPayload(target.value as WebhookValues['payload'])}
      />
      <SelectField
        label="Signature"
        hint={
          id
            ? 'Another signature creates new keys at once. The old keys no longer sign.'
            : 'With Ed25519 your receiver needs the public key alone.'
        }
        options={signatures}
        value={signature}
        onChange={({ target }) => setSignature(target.value as WebhookValues['signature'])}
      />
      <SelectField
        label="Order"
        hint="With an order, the next delivery about the same id waits until the previous one was delivered or dead-lettered."
        options={orderings}
        value={ordering}
        onChange={({ target }) => setOrdering(target.value as WebhookValues['ordering'])}
      />
      <CheckField label="Active" checked={isActive} onChange={({ target }) => setActive(target.checked)} />
      <div className="flex justify-end">
        <Button look="primary" type="submit" isBusy={submit.isBusy}>
          {submitLabel}
        </Button>
      </div>
      <RequestExample
        {...exampleOf(
          {
            method: id ? 'PATCH' : 'POST',
            path: id ? `/api/v1/webhooks/${id}` : '/api/v1/webhooks',
            body,
            call: id ? `webhooks.update('${id}', ${JSON.stringify(body)})` : `webhooks.create(${JSON.stringify(body)})`,
          },
          environment,
        )}
      />
    </ActionForm>
  );
}

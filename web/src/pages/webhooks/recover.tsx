import { useState } from 'react';
import type { DeliveryRecovery } from '../../../../sdk/typescript/src/index.ts';
import { exampleOf } from '../../api/example.ts';
import { Button } from '../../components/button.tsx';
import { RequestExample } from '../../components/code.tsx';
import { SelectField, TextField } from '../../components/field.tsx';
import { Section } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { notify } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useSession } from '../../session/context.tsx';

const classes = [
  { value: '', label: 'Dead letters and events that were not sent' },
  { value: '4xx', label: 'Dead letters answered 4xx' },
  { value: '5xx', label: 'Dead letters answered 5xx' },
  { value: 'error', label: 'Dead letters that were not answered' },
];

const timeOf = (local: string) => (local ? new Date(local).toISOString() : '');

/** Sends again what was missed in a time. */
export function Recover({ webhookId }: { webhookId: string }) {
  const { api, environment } = useSession();
  const [since, setSince] = useState('');
  const [until, setUntil] = useState('');
  const [types, setTypes] = useState('');
  const [statusClass, setStatusClass] = useState('');
  const eventTypes = types.split(/[\s,]+/).filter(Boolean);
  const body = {
    since: timeOf(since),
    ...(until && { until: timeOf(until) }),
    ...(eventTypes.length > 0 && { eventTypes }),
    ...(statusClass && { statusClass }),
  } as DeliveryRecovery;
  const recover = useAction(async () => {
    const { queued, complete } = await api.webhooks.recover(webhookId, body);
    const sent = queued === 1 ? '1 delivery is being sent.' : `${queued.toLocaleString()} deliveries are being sent.`;
    notify(complete ? sent : 'Missed events are being sent again.');
  });
  return (
    <Section title="Recover missed events">
      <p className="mt-0 text-muted">
        Replays dead letters, and sends events that were not delivered since the given time. What was delivered is not
        sent again, and neither is what has lost its content.
      </p>
      {recover.error !== undefined && <Problem error={recover.error} />}
      <div className="grid gap-x-4 md:grid-cols-2">
        <TextField
          label="Since"
          type="datetime-local"
          required
          value={since}
          onChange={({ target }) => setSince(target.value)}
        />
        <TextField
          label="Until"
          type="datetime-local"
          hint="Now, where it is empty."
          value={until}
          onChange={({ target }) => setUntil(target.value)}
        />
        <TextField
          label="Event types"
          hint="Separated by commas; all, where it is empty."
          value={types}
          onChange={({ target }) => setTypes(target.value)}
        />
        <SelectField
          label="What"
          value={statusClass}
          onChange={({ target }) => setStatusClass(target.value)}
          options={classes}
        />
      </div>
      <Button look="primary" disabled={!since} isBusy={recover.isBusy} onClick={() => void recover.run()}>
        Recover
      </Button>
      <RequestExample
        {...exampleOf(
          {
            method: 'POST',
            path: `/api/v1/webhooks/${webhookId}/recover`,
            body,
            call: `webhooks.recover('${webhookId}', ${JSON.stringify(body)})`,
          },
          environment,
        )}
      />
    </Section>
  );
}

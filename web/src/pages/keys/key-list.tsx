import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { ApiKey } from '../../../../sdk/typescript/src/index.ts';
import { exampleOf } from '../../api/example.ts';
import { ActionForm } from '../../components/action-form.tsx';
import { Button } from '../../components/button.tsx';
import { RequestExample } from '../../components/code.tsx';
import { ConfirmButton } from '../../components/confirm.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { CheckField, SelectField, TextField } from '../../components/field.tsx';
import { useFilters } from '../../components/filters.ts';
import { Empty, Loading, Page } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { SecretOnce } from '../../components/secret-once.tsx';
import { Status } from '../../components/status.tsx';
import { Pager, Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { notify } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useSession } from '../../session/context.tsx';

const limit = 50;
const daySeconds = 86_400;

/** The API keys of both environments. A key is shown once, when it is created. */
export default function KeyList() {
  const { api, key, may } = useSession();
  const queries = useQueryClient();
  const { offset, setOffset } = useFilters([]);
  const [secret, setSecret] = useState<string>();
  const keys = useQuery({
    queryKey: key('keys', offset),
    queryFn: ({ signal }) => api.keys.list({ limit, offset }, { signal }).page(),
  });
  const refresh = () => queries.invalidateQueries({ queryKey: key('keys') });
  const revoke = async (id: string) => {
    await api.keys.delete(id);
    notify('The key has been revoked.');
    await refresh();
  };
  const isUsable = ({ status }: ApiKey) => status === 'active' || status === 'expiring';
  const show = async (made: string) => {
    setSecret(made);
    await refresh();
  };
  return (
    <Page title="Keys" actions={may('admin') && <NewKey onMade={show} />}>
      {keys.error && <Problem error={keys.error} retry={() => void keys.refetch()} />}
      {keys.isPending && <Loading what="keys" />}
      {keys.data?.total === 0 && <Empty title="No keys yet">Programs call the API with a key.</Empty>}
      {keys.data && keys.data.total > 0 && (
        <>
          <Table
            label="Keys"
            rows={keys.data.items}
            keyOf={({ id }) => id}
            columns={[
              {
                title: 'Name',
                cell: ({ name, prefix, last4 }) => (
                  <>
                    <strong>{name}</strong>
                    <code className="block font-mono text-xs text-muted">
                      {prefix}…{last4}
                    </code>
                  </>
                ),
              },
              { title: 'Status', cell: ({ status }) => <Status value={status} /> },
              { title: 'Environment', cell: ({ environment }) => environment },
              { title: 'Scopes', isWideOnly: true, cell: ({ scopes }) => scopes.join(', ') },
              { title: 'Created', isWideOnly: true, cell: ({ createdAt }) => <Time at={createdAt} isRelative /> },
              { title: 'Last used', isWideOnly: true, cell: ({ lastUsedAt }) => <Time at={lastUsedAt} isRelative /> },
              { title: 'Expires', isWideOnly: true, cell: ({ expiresAt }) => <Time at={expiresAt} /> },
              {
                title: 'Actions',
                cell: (record) =>
                  may('admin') &&
                  isUsable(record) && (
                    <span className="flex gap-2">
                      <Rotate record={record} onMade={show} />
                      <ConfirmButton
                        look="danger"
                        question={`Revoke ${record.name}?`}
                        consequence="Requests with the key are refused at once. This cannot be undone."
                        confirmLabel="Revoke the key"
                        request={{
                          method: 'DELETE',
                          path: `/api/v1/keys/${record.id}`,
                          call: `keys.delete('${record.id}')`,
                        }}
                        onConfirm={() => revoke(record.id)}
                      >
                        Revoke
                      </ConfirmButton>
                    </span>
                  ),
              },
            ]}
          />
          <Pager page={keys.data} limit={limit} offset={offset} onOffset={setOffset} />
        </>
      )}
      <SecretOnce
        title="API key"
        note="Store it now: it is shown only once."
        secret={secret}
        onClose={() => setSecret(undefined)}
      />
    </Page>
  );
}

const scopes = [
  'workflows:read',
  'workflows:write',
  'runs:read',
  'runs:execute',
  'studio',
  'chat',
  'voice',
  'integrations',
  'scheduling',
  'webhooks',
  'keys',
];

function NewKey({ onMade }: { onMade(key: string): Promise<void> }) {
  const { api, environment } = useSession();
  const [isOpen, setOpen] = useState(false);
  const [name, setName] = useState('');
  const [keyEnvironment, setEnvironment] = useState(environment);
  const [expiresAt, setExpiresAt] = useState('');
  const [chosen, setChosen] = useState<string[]>(scopes);
  const body = {
    name,
    environment: keyEnvironment,
    ...(expiresAt && { expiresAt: new Date(expiresAt).toISOString() }),
    ...(chosen.length < scopes.length && { scopes: chosen }),
  };
  const create = useAction(async () => {
    const made = await api.keys.create(body as never);
    setOpen(false);
    setName('');
    await onMade(made.key);
  });
  const toggle = (scope: string) =>
    setChosen((before) => (before.includes(scope) ? before.filter((one) => one !== scope) : [...before, scope]));
  return (
    <>
      <Button look="primary" onClick={() => setOpen(true)}>
        New key
      </Button>
      <Dialog title="New key" isOpen={isOpen} onClose={() => setOpen(false)}>
        <ActionForm action={create}>
          <TextField
            label="Name"
            required
            maxLength={100}
            value={name}
            onChange={({ target }) => setName(target.value)}
          />
          <SelectField
            label="Environment"
            value={keyEnvironment}
            onChange={({ target }) => setEnvironment(target.value as typeof environment)}
            options={[
              { value: 'test', label: 'Test' },
              { value: 'live', label: 'Live' },
            ]}
          />
          <TextField
            label="Expires (optional)"
            type="datetime-local"
            value={expiresAt}
            onChange={({ target }) => setExpiresAt(target.value)}
          />
          <fieldset className="mx-0 mb-3 border-0 p-0">
            <legend className="mb-1 font-medium">Scopes</legend>
            <div className="grid grid-cols-2">
              {scopes.map((scope) => (
                <CheckField key={scope} label={scope} checked={chosen.includes(scope)} onChange={() => toggle(scope)} />
              ))}
            </div>
          </fieldset>
          <div className="flex justify-end gap-2">
            <Button onClick={() => setOpen(false)}>Cancel</Button>
            <Button look="primary" type="submit" isBusy={create.isBusy} disabled={chosen.length === 0}>
              Create the key
            </Button>
          </div>
          <RequestExample
            {...exampleOf(
              { method: 'POST', path: '/api/v1/keys', body, call: `keys.create(${JSON.stringify(body)})` },
              environment,
            )}
          />
        </ActionForm>
      </Dialog>
    </>
  );
}

const overlaps = [
  { value: '0', label: 'The old key ends at once' },
  { value: String(daySeconds), label: 'For a day' },
  { value: String(7 * daySeconds), label: 'For a week' },
];

/** Replaces a key: both work for a while. */
function Rotate({ record, onMade }: { record: ApiKey; onMade(key: string): Promise<void> }) {
  const { api, environment } = useSession();
  const [isOpen, setOpen] = useState(false);
  const [overlap, setOverlap] = useState(String(daySeconds));
  const body = { overlapSeconds: Number(overlap) };
  const rotate = useAction(async () => {
    const made = await api.keys.rotate(record.id, body);
    setOpen(false);
    await onMade(made.key);
  });
  return (
    <>
      <Button onClick={() => setOpen(true)}>Rotate</Button>
      <Dialog
        title={`Rotate ${record.name}`}
        description="A new key with the same name and scopes replaces this one."
        isOpen={isOpen}
        onClose={() => setOpen(false)}
      >
        {rotate.error !== undefined && <Problem error={rotate.error} />}
        <SelectField
          label="How long the old key still works"
          value={overlap}
          onChange={({ target }) => setOverlap(target.value)}
          options={overlaps}
        />
        <div className="flex justify-end gap-2">
          <Button onClick={() => setOpen(false)}>Cancel</Button>
          <Button look="primary" isBusy={rotate.isBusy} onClick={() => void rotate.run()}>
            Rotate the key
          </Button>
        </div>
        <RequestExample
          {...exampleOf(
            {
              method: 'POST',
              path: `/api/v1/keys/${record.id}/rotate`,
              body,
              call: `keys.rotate('${record.id}', ${JSON.stringify(body)})`,
            },
            environment,
          )}
        />
      </Dialog>
    </>
  );
}

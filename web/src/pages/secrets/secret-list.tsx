import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { exampleOf } from '../../api/example.ts';
import { ActionForm } from '../../components/action-form.tsx';
import { Button } from '../../components/button.tsx';
import { RequestExample } from '../../components/code.tsx';
import { ConfirmButton } from '../../components/confirm.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { TextField } from '../../components/field.tsx';
import { useFilters } from '../../components/filters.ts';
import { Empty, Loading, Page } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { Pager, Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { notify } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useSession } from '../../session/context.tsx';

const limit = 50;

/** Secrets that steps of the type `http` send in headers. Their values are never shown. */
export default function SecretList() {
  const { api, key } = useSession();
  const queries = useQueryClient();
  const { offset, setOffset } = useFilters([]);
  const secrets = useQuery({
    queryKey: key('secrets', offset),
    queryFn: ({ signal }) => api.secrets.list({ limit, offset }, { signal }).page(),
  });
  const remove = async (name: string) => {
    await api.secrets.delete(name);
    notify(`${name} has been deleted.`);
    await queries.invalidateQueries({ queryKey: key('secrets') });
  };
  return (
    <Page title="Secrets" actions={<SetSecret />}>
      {secrets.error && <Problem error={secrets.error} retry={() => void secrets.refetch()} />}
      {secrets.isPending && <Loading what="secrets" />}
      {secrets.data?.total === 0 && (
        <Empty title="No secrets yet">
          A step of the type <code>http</code> sends a secret with <code>secretHeaders</code>, and its value is nowhere
          shown.
        </Empty>
      )}
      {secrets.data && secrets.data.total > 0 && (
        <>
          <Table
            label="Secrets"
            rows={secrets.data.items}
            keyOf={({ name }) => name}
            columns={[
              { title: 'Name', cell: ({ name }) => <code className="font-mono">{name}</code> },
              { title: 'Changed', cell: ({ updatedAt }) => <Time at={updatedAt} isRelative /> },
              { title: 'Last used', cell: ({ lastUsedAt }) => <Time at={lastUsedAt} isRelative /> },
              {
                title: 'Actions',
                cell: ({ name }) => (
                  <span className="flex gap-2">
                    <SetSecret name={name} />
                    <ConfirmButton
                      look="danger"
                      question={`Delete ${name}?`}
                      consequence="Steps that send it fail from now on."
                      confirmLabel="Delete"
                      request={{ method: 'DELETE', path: `/api/v1/secrets/${name}`, call: `secrets.delete('${name}')` }}
                      onConfirm={() => remove(name)}
                    >
                      Delete
                    </ConfirmButton>
                  </span>
                ),
              },
            ]}
          />
          <Pager page={secrets.data} limit={limit} offset={offset} onOffset={setOffset} />
        </>
      )}
    </Page>
  );
}

/** Gives a secret its value. @param name of one that exists */
function SetSecret({ name: existing }: { name?: string }) {
  const { api, key, environment } = useSession();
  const queries = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const [name, setName] = useState(existing ?? '');
  const [value, setValue] = useState('');
  const save = useAction(async () => {
    await api.secrets.put(name, { value });
    setOpen(false);
    setValue('');
    notify(`${name} has been saved.`);
    await queries.invalidateQueries({ queryKey: key('secrets') });
  });
  return (
    <>
      <Button look={existing ? 'secondary' : 'primary'} onClick={() => setOpen(true)}>
        {existing ? 'Replace' : 'New secret'}
      </Button>
      <Dialog
        title={existing ? `Replace ${existing}` : 'New secret'}
        description="The value cannot be read again."
        isOpen={isOpen}
        onClose={() => setOpen(false)}
      >
        <ActionForm action={save}>
          {!existing && (
            <TextField
              label="Name"
              required
              pattern="[A-Z][A-Z0-9_]{0,63}"
              hint="Capital letters, digits and underscores."
              value={name}
              onChange={({ target }) => setName(target.value)}
            />
          )}
          <TextField
            label="Value"
            type="password"
            autoComplete="off"
            required
            maxLength={8192}
            value={value}
            onChange={({ target }) => setValue(target.value)}
          />
          <div className="flex justify-end gap-2">
            <Button onClick={() => setOpen(false)}>Cancel</Button>
            <Button look="primary" type="submit" isBusy={save.isBusy}>
              Save
            </Button>
          </div>
          <RequestExample
            {...exampleOf(
              {
                method: 'PUT',
                path: `/api/v1/secrets/${name || 'NAME'}`,
                // The value is nowhere shown.
                body: { value: '…' },
                call: `secrets.put('${name || 'NAME'}', { value: '…' })`,
              },
              environment,
            )}
          />
        </ActionForm>
      </Dialog>
    </>
  );
}

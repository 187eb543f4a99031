import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { ToolServer } from '../../../../sdk/typescript/src/index.ts';
import { exampleOf } from '../../api/example.ts';
import { Button } from '../../components/button.tsx';
import { RequestExample } from '../../components/code.tsx';
import { ConfirmButton } from '../../components/confirm.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { CheckField, TextArea, TextField } from '../../components/field.tsx';
import { Loading } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { Status } from '../../components/status.tsx';
import { Table } from '../../components/table.tsx';
import { notify } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useSession } from '../../session/context.tsx';

/** The catalogue of tool servers, and how each is configured for the organization. */
export function ToolServers() {
  const { api, key, may } = useSession();
  const servers = useQuery({
    queryKey: key('tools'),
    queryFn: ({ signal }) => api.tools.list({ signal }).page(),
  });
  if (servers.error) return <Problem error={servers.error} retry={() => void servers.refetch()} />;
  if (!servers.data) return <Loading what="tool servers" />;
  return (
    <Table
      label="Tool servers"
      rows={servers.data.items}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'Server',
          cell: ({ name, description }) => (
            <>
              <strong>{name}</strong>
              <span className="block text-xs text-muted">{description}</span>
            </>
          ),
        },
        {
          title: 'State',
          cell: ({ configured, enabled }) => (
            <Status value={enabled ? 'active' : configured ? 'inactive' : 'not configured'} />
          ),
        },
        { title: 'Functions', isNumber: true, isWideOnly: true, cell: ({ functions }) => functions?.length ?? '–' },
        ...(may('member') ? [{ title: 'Actions', cell: (server: ToolServer) => <Configure server={server} /> }] : []),
      ]}
    />
  );
}

/** The configuration of one tool server. */
function Configure({ server }: { server: ToolServer }) {
  const { api, key } = useSession();
  const queries = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const refresh = () => queries.invalidateQueries({ queryKey: key('tools') });
  const remove = async () => {
    await api.tools.delete(server.id);
    await refresh();
  };
  const close = () => setOpen(false);
  return (
    <span className="flex gap-2">
      <Button onClick={() => setOpen(true)}>Configure</Button>
      {server.configured && (
        <ConfirmButton
          look="danger"
          question={`Remove the configuration of ${server.name}?`}
          consequence="Models can no longer use it."
          confirmLabel="Remove"
          request={{ method: 'DELETE', path: `/api/v1/tools/${server.id}`, call: `tools.delete('${server.id}')` }}
          onConfirm={remove}
        >
          Remove
        </ConfirmButton>
      )}
      <Dialog title={server.name} description={server.description} isOpen={isOpen} onClose={close}>
        <Configuration server={server} onClose={close} onSaved={refresh} />
      </Dialog>
    </span>
  );
}

/** The form of a configuration. It begins with what is stored, and its secrets go with it when it is closed. */
function Configuration({
  server,
  onClose,
  onSaved,
}: {
  server: ToolServer;
  onClose(): void;
  onSaved(): Promise<void>;
}) {
  const { api, environment } = useSession();
  const [isEnabled, setEnabled] = useState(server.enabled);
  const [url, setUrl] = useState(server.url ?? '');
  const [values, setValues] = useState(JSON.stringify(server.values, null, 2));
  const [secrets, setSecrets] = useState('');
  const save = useAction(async () => {
    await api.tools.put(server.id, {
      enabled: isEnabled,
      ...(url && { url }),
      values: JSON.parse(values) as Record<string, string>,
      ...(secrets && { secrets: JSON.parse(secrets) as Record<string, string> }),
    });
    onClose();
    notify(`${server.name} has been configured.`);
    await onSaved();
  });
  // Secrets that are being typed are not repeated.
  const shownBody = { enabled: isEnabled, ...(url && { url }), values: server.values };
  return (
    <>
      {save.error !== undefined && <Problem error={save.error} />}
      <CheckField label="Enabled" checked={isEnabled} onChange={({ target }) => setEnabled(target.checked)} />
      <TextField label="Address (optional)" type="url" value={url} onChange={({ target }) => setUrl(target.value)} />
      <TextArea
        label="Values"
        hint="A JSON object."
        className="font-mono text-xs"
        value={values}
        onChange={({ target }) => setValues(target.value)}
      />
      <TextArea
        label="Secrets (optional)"
        hint={`A JSON object. Stored: ${server.secrets.join(', ') || 'none'}. Omitted values stay unchanged.`}
        className="font-mono text-xs"
        value={secrets}
        onChange={({ target }) => setSecrets(target.value)}
      />
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button look="primary" isBusy={save.isBusy} onClick={() => void save.run()}>
          Save
        </Button>
      </div>
      <RequestExample
        {...exampleOf(
          {
            method: 'PUT',
            path: `/api/v1/tools/${server.id}`,
            body: shownBody,
            call: `tools.put('${server.id}', ${JSON.stringify(shownBody)})`,
          },
          environment,
        )}
      />
    </>
  );
}

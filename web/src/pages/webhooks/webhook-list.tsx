import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { useFilters } from '../../components/filters.ts';
import { Empty, Loading, Page } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { SecretOnce } from '../../components/secret-once.tsx';
import { Status } from '../../components/status.tsx';
import { Pager, Table } from '../../components/table.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { Time } from '../../components/time.tsx';
import { notify } from '../../components/toast.tsx';
import { useSession } from '../../session/context.tsx';
import { EventCatalog } from './event-catalog.tsx';
import { newWebhookValues, WebhookForm, type WebhookValues } from './webhook-form.tsx';

const limit = 50;

/** The webhooks of the organization, and the events that they can receive. */
export default function WebhookList() {
  const { may } = useSession();
  return (
    <Page title="Webhooks" actions={may('member') && <NewWebhook />}>
      <Tabs
        tabs={[
          { name: 'webhooks', title: 'Webhooks', content: () => <List /> },
          { name: 'events', title: 'Event catalogue', content: () => <EventCatalog /> },
        ]}
      />
    </Page>
  );
}

function List() {
  const { api, key } = useSession();
  const { offset, setOffset } = useFilters([]);
  const webhooks = useQuery({
    queryKey: key('webhooks', offset),
    queryFn: ({ signal }) => api.webhooks.list({ limit, offset }, { signal }).page(),
  });
  if (webhooks.error) return <Problem error={webhooks.error} retry={() => void webhooks.refetch()} />;
  if (!webhooks.data) return <Loading what="webhooks" />;
  if (webhooks.data.total === 0) {
    return <Empty title="No webhooks yet">A webhook sends events, signed, to an address of yours.</Empty>;
  }
  return (
    <>
      <Table
        label="Webhooks"
        rows={webhooks.data.items}
        keyOf={({ id }) => id}
        columns={[
          {
            title: 'Name',
            cell: ({ id, name, url }) => (
              <>
                <Link to="/webhooks/$webhookId" params={{ webhookId: id }} className="font-medium">
                  {name}
                </Link>
                <span className="block text-xs text-muted">{url}</span>
              </>
            ),
          },
          {
            title: 'State',
            cell: ({ isActive, disabledReason }) => (
              <Status value={isActive ? 'active' : disabledReason ? 'failed' : 'inactive'} />
            ),
          },
          { title: 'Events', isWideOnly: true, cell: ({ events }) => events.join(', ') },
          { title: 'Created', isWideOnly: true, cell: ({ createdAt }) => <Time at={createdAt} isRelative /> },
        ]}
      />
      <Pager page={webhooks.data} limit={limit} offset={offset} onOffset={setOffset} />
    </>
  );
}

function NewWebhook() {
  const { api, key } = useSession();
  const queries = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const [secret, setSecret] = useState<string>();
  const create = async (values: WebhookValues) => {
    const created = await api.webhooks.create(values);
    setOpen(false);
    setSecret(created.secret);
    if (created.publicKey) notify('Created. The page of the webhook shows its public key.');
    await queries.invalidateQueries({ queryKey: key('webhooks') });
  };
  return (
    <>
      <Button look="primary" onClick={() => setOpen(true)}>
        New webhook
      </Button>
      <Dialog title="New webhook" isOpen={isOpen} onClose={() => setOpen(false)}>
        <WebhookForm initial={newWebhookValues} submitLabel="Create" onSubmit={create} />
      </Dialog>
      <SecretOnce
        title="Signing secret"
        note="Your receiver verifies signatures with this secret. It is shown only once."
        secret={secret}
        onClose={() => setSecret(undefined)}
      />
    </>
  );
}

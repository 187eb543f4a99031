import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { WebhookDetail } from '../../../../sdk/typescript/src/index.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmButton } from '../../components/confirm.tsx';
import { Copy } from '../../components/copy.tsx';
import { Facts, Loading, Page, Section } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { SecretOnce } from '../../components/secret-once.tsx';
import { Status } from '../../components/status.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { Time } from '../../components/time.tsx';
import { notify } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useSession } from '../../session/context.tsx';
import { Deliveries } from './deliveries.tsx';
import { Recover } from './recover.tsx';
import { Statistics } from './statistics.tsx';
import { WebhookForm, type WebhookValues } from './webhook-form.tsx';

/** One webhook: how its deliveries fare, their log, and its settings. */
export default function Webhook() {
  const { webhookId } = useParams({ strict: false }) as { webhookId: string };
  const { api, key, may } = useSession();
  const webhook = useQuery({
    queryKey: key('webhook', webhookId),
    queryFn: ({ signal }) => api.webhooks.get(webhookId, { signal }),
    refetchInterval: 10_000,
  });
  if (webhook.error && !webhook.data) {
    return (
      <Page title="Webhook">
        <Problem error={webhook.error} retry={() => void webhook.refetch()} />
      </Page>
    );
  }
  if (!webhook.data) return <Loading what="the webhook" />;
  const { data } = webhook;
  return (
    <Page title={data.name} actions={may('member') && <Actions webhook={data} />}>
      {webhook.error && <Problem error={webhook.error} retry={() => void webhook.refetch()} />}
      <Section title="Health">
        <Facts
          facts={[
            [
              'State',
              <Status key="state" value={data.isActive ? data.health.state : (data.disabledReason ?? 'inactive')} />,
            ],
            ['Waiting', data.health.waiting.toLocaleString()],
            ['Dead letters', data.health.deadLettered.toLocaleString()],
            ['Not delivered', data.health.skipped.toLocaleString()],
            [
              'Success in 24 h',
              data.health.successRate24h === null ? '–' : `${Math.round(data.health.successRate24h * 1000) / 10} %`,
            ],
            ['Failing since', <Time key="failing" at={data.health.failingSince} />],
            ['Next probe', <Time key="probe" at={data.health.nextProbeAt} />],
            ['Id', <Copy key="id" text={data.id} />],
            ['URL', data.url],
            ['Filter errors', data.filter === null ? '–' : data.filterErrors.toLocaleString()],
            ['Public key', data.publicKey ? <Copy key="public" text={data.publicKey} /> : '–'],
          ]}
        />
      </Section>
      <Statistics webhookId={webhookId} />
      <Tabs
        tabs={[
          { name: 'deliveries', title: 'Deliveries', content: () => <Deliveries webhookId={webhookId} /> },
          ...(may('member')
            ? [
                { name: 'recover', title: 'Recover', content: () => <Recover webhookId={webhookId} /> },
                { name: 'settings', title: 'Settings', content: () => <Settings webhook={data} /> },
              ]
            : []),
        ]}
      />
    </Page>
  );
}

function Actions({ webhook }: { webhook: WebhookDetail }) {
  const { api, key } = useSession();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [secret, setSecret] = useState<string>();
  const isPublic = webhook.signature === 'ed25519';
  const test = useAction(async () => {
    await api.webhooks.test(webhook.id);
    notify('A test event is being sent.');
    await queries.invalidateQueries({ queryKey: key('deliveries', webhook.id) });
  });
  const rotate = async () => {
    const { secret: next } = await api.webhooks.rotateSecret(webhook.id);
    setSecret(next);
    if (!next) notify('The webhook has a new public key.');
    await queries.invalidateQueries({ queryKey: key('webhook', webhook.id) });
  };
  const remove = async () => {
    await api.webhooks.delete(webhook.id);
    await queries.invalidateQueries({ queryKey: key('webhooks') });
    await navigate({ to: '/webhooks' });
  };
  return (
    <>
      {test.error !== undefined && <Problem error={test.error} />}
      <Button isBusy={test.isBusy} onClick={() => void test.run()}>
        Send a test event
      </Button>
      <ConfirmButton
        question={isPublic ? 'Replace the key that signs?' : 'Rotate the signing secret?'}
        consequence={`The old ${isPublic ? 'key' : 'secret'} signs beside the new one for 24 hours.`}
        confirmLabel="Rotate"
        request={{
          method: 'POST',
          path: `/api/v1/webhooks/${webhook.id}/rotate-secret`,
          call: `webhooks.rotateSecret('${webhook.id}')`,
        }}
        onConfirm={rotate}
      >
        {isPublic ? 'Rotate the key' : 'Rotate the secret'}
      </ConfirmButton>
      <ConfirmButton
        look="danger"
        question={`Delete ${webhook.name}?`}
        consequence="Deliveries that wait are not sent."
        confirmLabel="Delete the webhook"
        request={{ method: 'DELETE', path: `/api/v1/webhooks/${webhook.id}`, call: `webhooks.delete('${webhook.id}')` }}
        onConfirm={remove}
      >
        Delete
      </ConfirmButton>
      <SecretOnce
        title="New signing secret"
        note="It is shown only once."
        secret={secret}
        onClose={() => setSecret(undefined)}
      />
    </>
  );
}

function Settings({ webhook }: { webhook: WebhookDetail }) {
  const { api, key } = useSession();
  const queries = useQueryClient();
  const { id, name, url, events, isActive, filter, payload, signature, ordering } = webhook;
  const [secret, setSecret] = useState<string>();
  const save = async (values: WebhookValues) => {
    const changed = await api.webhooks.update(id, values);
    setSecret(changed.secret);
    notify('Saved.');
    await queries.invalidateQueries({ queryKey: key('webhook', id) });
  };
  return (
    <Section title="Settings">
      <WebhookForm
        id={id}
        initial={{ name, url, events, isActive, filter, payload, signature, ordering }}
        submitLabel="Save"
        onSubmit={save}
      />
      <SecretOnce
        title="New signing secret"
        note="It is shown only once."
        secret={secret}
        onClose={() => setSecret(undefined)}
      />
    </Section>
  );
}

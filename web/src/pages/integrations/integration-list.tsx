import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Integration } from '../../../../sdk/typescript/src/index.ts';
import { exampleOf } from '../../api/example.ts';
import { Button } from '../../components/button.tsx';
import { RequestExample } from '../../components/code.tsx';
import { ConfirmButton } from '../../components/confirm.tsx';
import { Facts, Loading, Section } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { Status } from '../../components/status.tsx';
import { Time } from '../../components/time.tsx';
import { notify } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useSession } from '../../session/context.tsx';

/** Every integration with the state of its connection. The list is read again when the person comes back to it. */
export function IntegrationList() {
  const { api, key } = useSession();
  const integrations = useQuery({
    queryKey: key('integrations'),
    queryFn: ({ signal }) => api.integrations.list({ signal }).page(),
    refetchOnWindowFocus: 'always',
  });
  if (integrations.error) return <Problem error={integrations.error} retry={() => void integrations.refetch()} />;
  if (!integrations.data) return <Loading what="integrations" />;
  return integrations.data.items.map((integration) => <Card key={integration.id} integration={integration} />);
}

function Card({ integration }: { integration: Integration }) {
  const { api, environment, key, may } = useSession();
  const queries = useQueryClient();
  const { id, name, status } = integration;
  const refresh = () => queries.invalidateQueries({ queryKey: key('integrations') });
  const connect = useAction(async () => {
    const { authUrl } = await api.integrations.connect(id);
    // The provider's page asks the owner of the account; this page stays open behind it.
    window.open(authUrl, '_blank', 'noopener,noreferrer');
  });
  const test = useAction(async () => {
    await api.integrations.test(id);
    notify(`${name} answers.`);
  });
  const disconnect = async () => {
    await api.integrations.connection.delete(id);
    notify(`${name} has been disconnected.`);
    await refresh();
  };
  return (
    <Section
      title={name}
      actions={
        may('member') &&
        (status === 'not_connected' ? (
          <Button look="primary" isBusy={connect.isBusy} onClick={() => void connect.run()}>
            Connect
          </Button>
        ) : (
          <>
            <Button isBusy={connect.isBusy} onClick={() => void connect.run()}>
              Connect again
            </Button>
            <Button isBusy={test.isBusy} onClick={() => void test.run()}>
              Test
            </Button>
            <ConfirmButton
              look="danger"
              question={`Disconnect ${name}?`}
              consequence="Actions fail and events no longer arrive until it is connected again."
              confirmLabel="Disconnect"
              request={{
                method: 'DELETE',
                path: `/api/v1/integrations/${id}/connection`,
                call: `integrations.connection.delete('${id}')`,
              }}
              onConfirm={disconnect}
            >
              Disconnect
            </ConfirmButton>
          </>
        ))
      }
    >
      <p className="mt-0">{integration.description}</p>
      {connect.error !== undefined && <Problem error={connect.error} />}
      {test.error !== undefined && <Problem error={test.error} />}
      <Facts
        facts={[
          ['Connection', <Status key="status" value={status} />],
          ['Account', integration.account?.name ?? '–'],
          ['Since', <Time key="since" at={integration.connectedAt} />],
          ['Actions', integration.features.actions.join(', ') || '–'],
          ['Events', integration.features.triggers.join(', ') || '–'],
          ['Events fail with', integration.eventsError ?? '–'],
        ]}
      />
      {may('member') && (
        <RequestExample
          {...exampleOf(
            { method: 'POST', path: `/api/v1/integrations/${id}/connect`, call: `integrations.connect('${id}')` },
            environment,
          )}
        />
      )}
    </Section>
  );
}

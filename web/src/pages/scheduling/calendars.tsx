import { useQuery, useQueryClient } from '@tanstack/react-query';
import { exampleOf } from '../../api/example.ts';
import { Button } from '../../components/button.tsx';
import { RequestExample } from '../../components/code.tsx';
import { ConfirmButton } from '../../components/confirm.tsx';
import { Empty, Facts, Loading, Section } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { Status } from '../../components/status.tsx';
import { Time } from '../../components/time.tsx';
import { notify } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useSession } from '../../session/context.tsx';

/** Connected calendars: their events are not offered, and bookings are entered in them. */
export function Calendars() {
  const { api, key, may, environment } = useSession();
  const queries = useQueryClient();
  const calendars = useQuery({
    queryKey: key('calendars'),
    queryFn: ({ signal }) => api.scheduling.calendars.list({ signal }).page(),
    refetchOnWindowFocus: 'always',
    refetchInterval: 10_000,
  });
  const refresh = () => queries.invalidateQueries({ queryKey: key('calendars') });
  const connect = useAction(async (service: 'google' | 'microsoft') => {
    const { authUrl } = await api.scheduling.calendars.connect({ service });
    window.open(authUrl, '_blank', 'noopener,noreferrer');
  });
  const sync = useAction(async (id: string) => {
    await api.scheduling.calendars.sync(id);
    notify('The calendar is being read.');
    await refresh();
  });
  const remove = async (id: string) => {
    await api.scheduling.calendars.delete(id);
    await refresh();
  };
  return (
    <>
      {may('member') && (
        <div className="mb-4 flex gap-2">
          <Button look="primary" isBusy={connect.isBusy} onClick={() => void connect.run('google')}>
            Connect Google
          </Button>
          <Button look="primary" isBusy={connect.isBusy} onClick={() => void connect.run('microsoft')}>
            Connect Microsoft
          </Button>
        </div>
      )}
      {may('member') && (
        <RequestExample
          {...exampleOf(
            {
              method: 'POST',
              path: '/api/v1/scheduling/calendars/connect',
              body: { service: 'google' },
              call: `scheduling.calendars.connect({ service: 'google' })`,
            },
            environment,
          )}
        />
      )}
      {connect.error !== undefined && <Problem error={connect.error} />}
      {sync.error !== undefined && <Problem error={sync.error} />}
      {calendars.error && <Problem error={calendars.error} retry={() => void calendars.refetch()} />}
      {calendars.isPending && <Loading what="calendars" />}
      {calendars.data?.items.length === 0 && (
        <Empty title="No calendars connected">Times at which the host is busy elsewhere are not offered.</Empty>
      )}
      {calendars.data?.items.map((calendar) => (
        <Section
          key={calendar.id}
          title={calendar.name}
          actions={
            may('member') && (
              <>
                <Button isBusy={sync.isBusy} onClick={() => void sync.run(calendar.id)}>
                  Sync now
                </Button>
                <ConfirmButton
                  look="danger"
                  question={`Disconnect ${calendar.name}?`}
                  consequence="Its events no longer block times."
                  confirmLabel="Disconnect"
                  request={{
                    method: 'DELETE',
                    path: `/api/v1/scheduling/calendars/${calendar.id}`,
                    call: `scheduling.calendars.delete('${calendar.id}')`,
                  }}
                  onConfirm={() => remove(calendar.id)}
                >
                  Disconnect
                </ConfirmButton>
              </>
            )
          }
        >
          <Facts
            facts={[
              ['Service', calendar.service],
              ['Status', <Status key="status" value={calendar.status} />],
              ['Last sync', <Time key="sync" at={calendar.lastSyncedAt} isRelative />],
            ]}
          />
          {calendar.lastError && <Problem error={calendar.lastError} />}
          {may('member') && (
            <RequestExample
              {...exampleOf(
                {
                  method: 'POST',
                  path: `/api/v1/scheduling/calendars/${calendar.id}/sync`,
                  call: `scheduling.calendars.sync('${calendar.id}')`,
                },
                environment,
              )}
            />
          )}
        </Section>
      ))}
    </>
  );
}

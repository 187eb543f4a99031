import { useQuery, useQueryClient } from '@tanstack/react-query';
import { exampleOf } from '../../api/example.ts';
import { Button } from '../../components/button.tsx';
import { Code, RequestExample } from '../../components/code.tsx';
import { ConfirmButton } from '../../components/confirm.tsx';
import { Copy } from '../../components/copy.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { SelectField } from '../../components/field.tsx';
import { FilterText } from '../../components/filter-text.tsx';
import { useFilters, useShown } from '../../components/filters.ts';
import { Empty, Facts, Loading } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { Status } from '../../components/status.tsx';
import { Pager, Table } from '../../components/table.tsx';
import { Duration, Time } from '../../components/time.tsx';
import { notify } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useSession } from '../../session/context.tsx';

const limit = 50;
const statuses = ['pending', 'retrying', 'delivered', 'failed', 'dead_lettered'];

/** The delivery log of one webhook. */
export function Deliveries({ webhookId }: { webhookId: string }) {
  const { api, key, may, environment } = useSession();
  const { filters, offset, set, setOffset } = useFilters(['status', 'eventType']);
  const [shown, show] = useShown('delivery');
  const deliveries = useQuery({
    queryKey: key('deliveries', webhookId, filters, offset),
    queryFn: ({ signal }) =>
      api.webhooks.deliveries.list(webhookId, { ...filters, limit, offset } as never, { signal }).page(),
    refetchInterval: 5_000,
  });
  return (
    <>
      <div className="mb-3 grid max-w-xl gap-2 md:grid-cols-2">
        <SelectField
          label="Status"
          isLabelHidden
          value={filters.status ?? ''}
          onChange={({ target }) => set({ status: target.value || undefined })}
          options={[
            { value: '', label: 'Every status' },
            ...statuses.map((value) => ({ value, label: value.replaceAll('_', ' ') })),
          ]}
        />
        <FilterText label="Event type" value={filters.eventType} onChange={(eventType) => set({ eventType })} />
      </div>
      {deliveries.error && <Problem error={deliveries.error} retry={() => void deliveries.refetch()} />}
      {deliveries.isPending && <Loading what="deliveries" />}
      {deliveries.data?.total === 0 && <Empty title="No deliveries" />}
      {deliveries.data && deliveries.data.total > 0 && (
        <>
          <Table
            label="Deliveries"
            rows={deliveries.data.items}
            keyOf={({ id }) => id}
            columns={[
              { title: 'Status', cell: ({ status }) => <Status value={status} /> },
              {
                title: 'Event',
                cell: ({ id, eventType }) => (
                  <button type="button" className="text-left underline" onClick={() => show(id)}>
                    {eventType}
                  </button>
                ),
              },
              { title: 'Answer', cell: ({ statusCode, errorClass }) => statusCode ?? errorClass ?? '–' },
              { title: 'Attempts', isNumber: true, isWideOnly: true, cell: ({ attempts }) => attempts },
              {
                title: 'Duration',
                isNumber: true,
                isWideOnly: true,
                cell: ({ durationMs }) => <Duration ms={durationMs} />,
              },
              { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} isRelative /> },
            ]}
          />
          <Pager page={deliveries.data} limit={limit} offset={offset} onOffset={setOffset} />
        </>
      )}
      {may('member') && (
        <RequestExample
          {...exampleOf(
            {
              method: 'POST',
              path: `/api/v1/webhooks/${webhookId}/test`,
              call: `webhooks.test('${webhookId}')`,
            },
            environment,
          )}
        />
      )}
      <Dialog title="Delivery" isOpen={shown !== undefined} onClose={() => show(undefined)} isWide>
        {shown !== undefined && <Delivery webhookId={webhookId} deliveryId={shown} />}
      </Dialog>
    </>
  );
}

/** One delivery: what was sent, each attempt with its answer, and the ways to send it again. */
function Delivery({ webhookId, deliveryId }: { webhookId: string; deliveryId: string }) {
  const { api, key, may, environment } = useSession();
  const queries = useQueryClient();
  const delivery = useQuery({
    queryKey: key('delivery', deliveryId),
    queryFn: ({ signal }) => api.webhooks.deliveries.get(webhookId, deliveryId, { signal }),
  });
  const renew = async () => {
    await queries.invalidateQueries({ queryKey: key('delivery', deliveryId) });
    await queries.invalidateQueries({ queryKey: key('deliveries', webhookId) });
  };
  const again = useAction(async (way: 'replay' | 'resend') => {
    await api.webhooks.deliveries[way](webhookId, deliveryId);
    notify(way === 'replay' ? 'The delivery is being attempted again.' : 'The event is being sent again.');
    await renew();
  });
  const expunge = async () => {
    await api.webhooks.deliveries.content.delete(webhookId, deliveryId);
    notify('The content was removed.');
    await renew();
  };
  if (delivery.error) return <Problem error={delivery.error} retry={() => void delivery.refetch()} />;
  if (!delivery.data) return <Loading what="the delivery" />;
  const { data } = delivery;
  const canExpunge =
    (data.contentExpungedAt === null || data.responseBody !== null) && !['pending', 'retrying'].includes(data.status);
  return (
    <>
      <Facts
        facts={[
          ['Status', <Status key="status" value={data.status} />],
          ['Event', data.eventType],
          ['Event id', <Copy key="event" text={data.eventId} />],
          ['Attempts', data.attempts],
          ['Answer', data.statusCode ?? data.errorClass ?? '–'],
          ['Next attempt', <Time key="next" at={data.nextAttemptAt} />],
          ['Held back', data.heldBack?.reason.replaceAll('_', ' ') ?? '–'],
          ['Correlation id', <Copy key="correlation" text={data.correlationId} />],
        ]}
      />
      {again.error !== undefined && <Problem error={again.error} />}
      {may('member') && (
        <div className="my-3 flex gap-2">
          {data.replayable && (
            <Button look="primary" isBusy={again.isBusy} onClick={() => void again.run('replay')}>
              Replay
            </Button>
          )}
          {data.contentExpungedAt === null && (
            <Button isBusy={again.isBusy} onClick={() => void again.run('resend')}>
              Send the event again
            </Button>
          )}
          {canExpunge && (
            <ConfirmButton
              look="danger"
              question="Remove the content of this delivery?"
              consequence="The body and the answers are removed for good. The event cannot be sent again, to other webhooks neither. The log of the attempts stays."
              confirmLabel="Remove the content"
              request={{
                method: 'DELETE',
                path: `/api/v1/webhooks/${webhookId}/deliveries/${deliveryId}/content`,
                call: `webhooks.deliveries.content.delete('${webhookId}', '${deliveryId}')`,
              }}
              onConfirm={expunge}
            >
              Remove the content
            </ConfirmButton>
          )}
        </div>
      )}
      <h3 className="mb-1 text-sm font-medium">Body</h3>
      {data.requestBody === null ? (
        <p className="m-0 text-muted">
          The content was removed <Time at={data.contentExpungedAt} isRelative />.
        </p>
      ) : (
        <Code label="Body of the delivery" text={data.requestBody} />
      )}
      {data.responseBody !== null && (
        <>
          <h3 className="mt-3 mb-1 text-sm font-medium">Last answer{data.responseBodyTruncated && ' (shortened)'}</h3>
          <Code label="Last answer" text={data.responseBody} />
        </>
      )}
      <h3 className="mt-3 mb-1 text-sm font-medium">Attempts</h3>
      <Table
        label="Attempts"
        rows={data.attemptLog}
        keyOf={({ number }) => String(number)}
        columns={[
          { title: 'Attempt', isNumber: true, cell: ({ number }) => number },
          { title: 'Began', cell: ({ startedAt }) => <Time at={startedAt} /> },
          { title: 'Duration', isNumber: true, cell: ({ durationMs }) => <Duration ms={durationMs} /> },
          { title: 'Answer', cell: ({ statusCode, errorClass }) => statusCode ?? errorClass ?? '–' },
        ]}
      />
      {may('member') &&
        (['replay', 'resend'] as const)
          .filter((way) => (way === 'replay' ? data.replayable : data.contentExpungedAt === null))
          .map((way) => (
            <RequestExample
              key={way}
              {...exampleOf(
                {
                  method: 'POST',
                  path: `/api/v1/webhooks/${webhookId}/deliveries/${deliveryId}/${way}`,
                  call: `webhooks.deliveries.${way}('${webhookId}', '${deliveryId}')`,
                },
                environment,
              )}
            />
          ))}
    </>
  );
}

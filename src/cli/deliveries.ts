import { type Command, Option } from 'commander';
import { declared } from '../platform/parts/declared-parts.ts';
import { deliveryWorkflowId } from '../temporal/contracts/webhooks.ts';
import { organizationIds } from '../tenancy/core/ids.ts';
import { deliveryStatuses } from '../webhooks/core/delivery-status.ts';
import { deliveryIds, eventIds, webhookIds } from '../webhooks/core/ids.ts';
import { redriveInDatabase } from '../webhooks/dead-letters/dead-letters.ts';
import { replayAnyDelivery } from '../webhooks/dead-letters/operator-actions.ts';
import { readRedriveArguments } from '../webhooks/dead-letters/redrive-arguments.ts';
import { type AnyDelivery, listAnyDeliveries } from '../webhooks/deliveries/all-deliveries.ts';
import { addShowCommand } from './find.ts';
import { readLimit } from './limit.ts';
import type { CommandContext } from './with-database.ts';

interface Filter {
  org?: string;
  webhook?: string;
  eventType?: string;
  since?: string;
}

const argumentsOf = ({ org, webhook, eventType, since }: Filter) => ({
  ...(org !== undefined && { organizationId: org }),
  ...(webhook !== undefined && { webhookId: webhook }),
  ...(eventType !== undefined && { eventType }),
  ...(since !== undefined && { since }),
});

const view = ({ id, subscriptionId, organizationId, eventId, isActive, ...row }: AnyDelivery) => ({
  id: deliveryIds.format(id),
  status: row.status,
  eventType: row.eventType,
  eventId: eventIds.format(eventId),
  organizationId: organizationIds.format(organizationId),
  environment: row.environment,
  webhookId: webhookIds.format(subscriptionId),
  webhookIsActive: isActive,
  attempts: row.attempts,
  statusCode: row.statusCode,
  errorClass: row.errorClass,
  createdAt: row.createdAt,
  nextAttemptAt: row.nextAttemptAt,
  endedAt: row.finishedAt,
  // The newest thousand dead letters of a webhook have a workflow.
  temporalWorkflowId: deliveryWorkflowId(id),
});

const addFilter = (command: Command) =>
  command
    .option('--org <id>', 'only this organization')
    .option('--webhook <id>', 'only this webhook')
    .option('--event-type <type>', 'only this type of event')
    .option('--json', 'print one JSON document');

/** `delivery list`, `delivery show`, `delivery replay` and `delivery redrive`. */
export function addDeliveryCommands(delivery: Command, { withDatabase }: CommandContext): void {
  addShowCommand(delivery, 'delivery', withDatabase);
  addFilter(delivery.command('list'))
    .description('list the latest deliveries, newest first')
    .addOption(new Option('--status <status>').choices(deliveryStatuses))
    .option('--since <time>', 'only deliveries that ended, or if unfinished were created, since this time')
    .option('--limit <deliveries>', 'maximum number of deliveries', readLimit, 100)
    .action(({ status, limit, json, ...filter }) =>
      withDatabase(
        async (database) => {
          const of = { ...readRedriveArguments(declared.events, argumentsOf(filter)), status };
          return { deliveries: (await listAnyDeliveries(database, of, limit)).map(view) };
        },
        { json },
      ),
    );
  delivery
    .command('replay <id>')
    .description('replay a dead letter with a new schedule of attempts')
    .option('--json', 'print one JSON document')
    .action((id, { json }) => withDatabase((database) => replayAnyDelivery(database, id), { json }));
  addFilter(delivery.command('redrive'))
    .description('replay all dead letters of webhooks that are turned on')
    .option('--since <time>', 'only deliveries dead-lettered since this time')
    .option('--per-second <deliveries>', 'replays per second (default: 20)', Number)
    .action(({ perSecond, json, ...filter }) =>
      withDatabase(
        (database) =>
          redriveInDatabase(database, declared.events, {
            ...argumentsOf(filter),
            ...(perSecond !== undefined && { perSecond }),
          }),
        { json },
      ),
    );
}

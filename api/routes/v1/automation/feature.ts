import { runIds, workflowIds } from '../../../../src/automation/core/ids.ts';
import type { ApiFeature } from '../../../mount.ts';
import { runEvents } from '../../../schemas/automation/events.ts';
import { runControlRoutes } from './run-control.ts';
import { runEventRoutes } from './run-events.ts';
import { runRoutes } from './runs.ts';
import { scheduleRoutes } from './schedules.ts';
import { triggerRoutes } from './trigger.ts';
import { workflowRoutes } from './workflows.ts';

export const automation: ApiFeature = {
  tags: [
    { name: 'Workflows', description: 'Create workflows: sequences of AI steps with inputs, schedules and triggers.' },
    { name: 'Runs', description: 'Execute workflows and read results.' },
  ],
  ids: [workflowIds, runIds],
  securitySchemes: {
    webhookSecret: {
      type: 'apiKey',
      in: 'header',
      name: 'X-Webhook-Secret',
      description:
        'The webhook secret of the workflow, `trg_…`, from `POST /workflows/{id}/webhook-secret`. It can start this workflow and do nothing else.',
    },
  },
  routes: (services) => [
    workflowRoutes(services),
    scheduleRoutes(services),
    runRoutes(services),
    runControlRoutes(services),
    runEventRoutes(services),
    triggerRoutes(services),
  ],
  events: runEvents,
};

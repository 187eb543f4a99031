import { runIds, workflowIds } from '../../../../src/automation/core/ids.ts';
import type { ApiFeature } from '../../../mount.ts';
import { approvalRoutes } from './approvals.ts';
import { batchRoutes } from './batches.ts';
import { bulkActionRoutes } from './bulk-actions.ts';
import { eventRoutes } from './events.ts';
import { runControlRoutes } from './run-control.ts';
import { runEventRoutes } from './run-events.ts';
import { runSearchRoutes } from './run-search.ts';
import { runStepRoutes } from './run-steps.ts';
import { runRoutes } from './runs.ts';
import { runsEventRoutes } from './runs-events.ts';
import { scheduleRoutes } from './schedules.ts';
import { secretRoutes } from './secrets.ts';
import { tokenRoutes } from './tokens.ts';
import { triggerRoutes } from './trigger.ts';
import { versionRoutes } from './versions.ts';
import { workflowDocumentRoutes } from './workflow-documents.ts';
import { workflowTemplateRoutes } from './workflow-templates.ts';
import { workflowRoutes } from './workflows.ts';

export const automation: ApiFeature = {
  tags: [
    { name: 'Workflows', description: 'Create workflows: sequences of AI steps with inputs, schedules and triggers.' },
    { name: 'Runs', description: 'Execute workflows and read results.' },
    { name: 'Approvals', description: 'List, read and answer the questions that runs ask people.' },
    {
      name: 'Tokens',
      description: 'Create short-lived tokens. With one, a page in a browser starts and follows runs itself.',
    },
    { name: 'Events', description: 'Send events that resume and start runs, and set the triggers of workflows.' },
  ],
  overview: {
    title: 'Workflows and runs',
    text: 'Prompts, conditions, transformations and actions, on request, on a schedule, or by a trigger',
  },
  example: {
    title: 'Triggers',
    text: 'Start a run with the body of a webhook: its members are the variables of the run. Without a key, send the secret of `POST /workflows/{id}/webhook-secret` in `X-Webhook-Secret`.',
    commands: ({ send }) => [send('/api/v1/webhooks/WORKFLOW_ID', '{"order": 1207, "customer": "Ada"}')],
  },
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
    workflowDocumentRoutes(services),
    workflowTemplateRoutes(services),
    workflowRoutes(services),
    scheduleRoutes(services),
    runRoutes(services),
    runSearchRoutes(services),
    batchRoutes(services),
    bulkActionRoutes(services),
    runControlRoutes(services),
    runEventRoutes(services),
    runsEventRoutes(services),
    runStepRoutes(services),
    tokenRoutes(services),
    triggerRoutes(services),
    approvalRoutes(services),
    eventRoutes(services),
    secretRoutes(services),
    versionRoutes(services),
  ],
};

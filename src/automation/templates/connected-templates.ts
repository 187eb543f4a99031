// Templates that ask people, follow events and use other systems.
import { text, type WorkflowTemplate } from './template.ts';

const refund: WorkflowTemplate = {
  id: 'approved-refund',
  name: 'Ask before a refund',
  description:
    'An approval before an action: a person approves a refund by mail or by the API, and the team reads the decision in Slack. Needs Slack to be connected.',
  inputs: [
    text('customer', 'Who gets the refund.'),
    { name: 'amount', type: 'number', required: true, description: 'In dollars.' },
    text('channel', 'The Slack channel of the team.'),
  ],
  steps: [
    {
      id: 'ask',
      type: 'approval',
      message: 'Refund {{amount}} dollars to {{customer}}?',
      form: { type: 'object', properties: { reason: { type: 'string' } } },
      timeout: '3d',
      onTimeout: 'reject',
    },
    {
      id: 'post',
      type: 'action',
      integration: 'slack',
      action: 'send_message',
      payload: { channel: '{{channel}}', text: 'Refund of {{amount}} to {{customer}}: {{steps.ask.output.action}}.' },
    },
  ],
  example: { variables: { customer: 'Ada', amount: 25, channel: 'C0123456789' } },
};

const followUp: WorkflowTemplate = {
  id: 'booking-follow-up',
  name: 'Follow up on a booking',
  description:
    'Events: each new booking starts a run, which prepares the meeting and then waits up to 30 days for the cancellation of this booking.',
  inputs: [],
  triggers: [{ event: 'booking.created' }],
  steps: [
    {
      id: 'prepare',
      type: 'prompt',
      prompt: 'Write a note to prepare a meeting with {{input.data.attendee.name}} at {{input.data.start}}.',
    },
    {
      id: 'cancelled',
      type: 'event',
      event: 'booking.cancelled',
      match: 'event.data.id == input.data.id',
      timeout: 'P30D',
      onTimeout: 'continue',
      lookBack: 60,
    },
    { id: 'was_cancelled', type: 'condition', expression: 'steps.cancelled.output != null', then: 'win_back' },
    { id: 'win_back', type: 'prompt', prompt: 'Write {{input.data.attendee.name}} a kind offer of another time.' },
  ],
  example: { input: { data: { id: 'bkg_1', start: '2030-06-12T09:00:00.000Z', attendee: { name: 'Ada' } } } },
};

const toSlack: WorkflowTemplate = {
  id: 'webhook-to-slack',
  name: 'Webhook to Slack',
  description:
    'A trigger: the body of `POST /webhooks/{workflowId}` becomes the variables of the run, a prompt makes a line of it, and Slack shows it. Needs Slack to be connected.',
  inputs: [text('title', 'What happened.'), text('channel', 'The Slack channel.')],
  steps: [
    { id: 'line', type: 'prompt', prompt: 'One line for the team, without greeting: {{title}}' },
    {
      id: 'post',
      type: 'action',
      integration: 'slack',
      action: 'send_message',
      payload: { channel: '{{channel}}', text: '{{steps.line.output}}' },
      retry: { maxAttempts: 3 },
    },
  ],
  example: { variables: { title: 'Build 1207 is green.', channel: 'C0123456789' } },
};

const watchPage: WorkflowTemplate = {
  id: 'watch-a-page',
  name: 'Watch a page',
  description:
    'A request to another system, a prompt that reads the answer, and a `fail` step that makes the run fail, so that a webhook on `workflow.run.failed` is notified.',
  inputs: [text('url', 'The address of the page.'), text('expected', 'What the page must say.')],
  steps: [
    { id: 'fetch', type: 'http', url: '{{url}}', timeoutSeconds: 20 },
    { id: 'read', type: 'transform', expression: 'steps.fetch.output.status == 200' },
    { id: 'is_up', type: 'condition', expression: 'steps.read.output', then: 'summary', else: 'down' },
    { id: 'summary', type: 'prompt', prompt: 'Does this say {{expected}}? {{steps.fetch.output.body}}' },
    { id: 'done', type: 'condition', expression: 'true', then: 'end' },
    { id: 'down', type: 'fail', message: '{{url}} answered {{steps.fetch.output.status}}.', code: 'page_is_down' },
  ],
  example: { variables: { url: 'https://status.example.com/', expected: 'All systems operational' } },
};

export const connectedTemplates = [refund, followUp, toSlack, watchPage];

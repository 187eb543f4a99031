/** How a field of a step is edited. */
type FieldKind = 'line' | 'text' | 'number' | 'json' | 'choice' | 'list';

export interface StepField {
  name: string;
  label: string;
  kind: FieldKind;
  hint?: string;
  choices?: readonly string[];
}

export interface StepKind {
  type: string;
  title: string;
  /** What a new step of the type has. */
  initial: Record<string, unknown>;
  fields: readonly StepField[];
  /** Members that are lists of steps. */
  contains?: 'steps' | 'branches';
}

const line = (name: string, label: string, hint?: string): StepField => ({
  name,
  label,
  kind: 'line',
  ...(hint && { hint }),
});
const text = (name: string, label: string, hint?: string): StepField => ({
  name,
  label,
  kind: 'text',
  ...(hint && { hint }),
});
const number = (name: string, label: string): StepField => ({ name, label, kind: 'number' });
const json = (name: string, label: string, hint?: string): StepField => ({
  name,
  label,
  kind: 'json',
  ...(hint && { hint }),
});
const choice = (name: string, label: string, choices: readonly string[]): StepField => ({
  name,
  label,
  kind: 'choice',
  choices,
});
const list = (name: string, label: string, hint?: string): StepField => ({
  name,
  label,
  kind: 'list',
  ...(hint && { hint }),
});

const templates = 'Placeholders: {{input}}, {{name}} of a variable, {{steps.id.output}}.';
const expression = 'A CEL expression.';
const mode = choice('mode', 'When one fails', ['fail_fast', 'settled']);
const concurrency = number('concurrency', 'At the same time');
const payloadOf = (title: string, type: string, payload: Record<string, unknown>): StepKind => ({
  type,
  title,
  initial: { payload },
  fields: [json('payload', 'Payload', templates)],
});

/** The types of steps with their fields, in the order in which they are offered. */
export const stepKinds: readonly StepKind[] = [
  {
    type: 'prompt',
    title: 'Prompt',
    initial: { prompt: '{{input}}' },
    fields: [
      text('prompt', 'Prompt', templates),
      text('system', 'System prompt'),
      choice('provider', 'Provider', ['ANTHROPIC', 'OPENAI', 'GOOGLE']),
      line('model', 'Model'),
      number('temperature', 'Temperature'),
      number('maxTokens', 'Tokens at most'),
      list('tools', 'Tool servers', 'Separated by commas.'),
      json('outputSchema', 'Schema of the output'),
      json('retry', 'Retry'),
      json('fallback', 'Fallback models'),
    ],
  },
  {
    type: 'transform',
    title: 'Transform',
    initial: { expression: 'input' },
    fields: [text('expression', 'Expression', expression), json('outputSchema', 'Schema of the output')],
  },
  {
    type: 'condition',
    title: 'Condition',
    initial: { expression: 'true', then: 'end' },
    fields: [
      text('expression', 'Expression', expression),
      line('then', 'If it is true, go to', 'The id of a later step of this list, or end.'),
      line('else', 'Otherwise, go to'),
    ],
  },
  {
    type: 'parallel',
    title: 'Parallel branches',
    initial: {
      branches: [
        { id: 'first', steps: [{ id: 'first_step', type: 'transform', expression: 'input' }] },
        { id: 'second', steps: [{ id: 'second_step', type: 'transform', expression: 'input' }] },
      ],
    },
    fields: [mode, concurrency],
    contains: 'branches',
  },
  {
    type: 'map',
    title: 'Map over a list',
    initial: { items: 'input', steps: [{ id: 'each_item', type: 'transform', expression: 'item' }] },
    fields: [text('items', 'Items', 'A CEL expression for a list.'), mode, concurrency],
    contains: 'steps',
  },
  {
    type: 'wait',
    title: 'Wait',
    initial: { for: '1h' },
    fields: [
      line('for', 'For', 'A duration: PT36H, 2d3h, or seconds.'),
      line('until', 'Until', 'A time with an offset, instead of a duration.'),
    ],
  },
  {
    type: 'event',
    title: 'Wait for an event',
    initial: { event: 'order.paid' },
    fields: [
      line('event', 'Name of the event'),
      text('match', 'Match', expression),
      line('timeout', 'Timeout'),
      choice('onTimeout', 'After the timeout', ['fail', 'continue']),
      number('lookBack', 'Look back, in seconds'),
    ],
  },
  {
    type: 'approval',
    title: 'Approval',
    initial: { message: 'Approve {{input}}?' },
    fields: [
      text('message', 'Message', templates),
      json('actions', 'Actions'),
      json('form', 'Form'),
      list('approvers', 'Approvers', 'E-mail addresses, separated by commas.'),
      line('timeout', 'Timeout'),
      line('onTimeout', 'After the timeout', 'fail, or the id of an action.'),
    ],
  },
  {
    type: 'workflow',
    title: 'Run a workflow',
    initial: { workflowId: '' },
    fields: [
      line('workflowId', 'Id of the workflow'),
      json('input', 'Input', templates),
      json('variables', 'Variables', templates),
      choice('mode', 'Result', ['wait', 'detach']),
      number('version', 'Version'),
    ],
  },
  {
    type: 'http',
    title: 'HTTP request',
    initial: { method: 'GET', url: 'https://example.com/' },
    fields: [
      choice('method', 'Method', ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']),
      line('url', 'URL', templates),
      json('query', 'Query'),
      json('headers', 'Headers'),
      json('body', 'Body', templates),
      json('secretHeaders', 'Headers with secrets', 'Names of secrets by headers.'),
      number('timeoutSeconds', 'Timeout in seconds'),
      list('successStatus', 'Statuses that mean success', 'Codes or classes, separated by commas.'),
      json('retry', 'Retry'),
    ],
  },
  {
    type: 'action',
    title: 'Action of an integration',
    initial: { integration: 'slack', action: 'send_message', payload: { channel: '', text: '{{input}}' } },
    fields: [line('integration', 'Integration'), line('action', 'Action'), json('payload', 'Payload', templates)],
  },
  payloadOf('Image', 'image', { prompt: '{{input}}' }),
  payloadOf('Upscale an image', 'upscale', { imageUrl: '{{input}}' }),
  payloadOf('Remove a background', 'remove_bg', { imageUrl: '{{input}}' }),
  payloadOf('Video', 'video', { prompt: '{{input}}' }),
  payloadOf('Music', 'music', { prompt: '{{input}}' }),
  payloadOf('Speech', 'speech', { text: '{{input}}' }),
  payloadOf('Transcription', 'transcription', { url: '{{input}}' }),
  payloadOf('Booking', 'booking', { eventTypeId: '', start: '', attendee: { name: '', email: '' } }),
  {
    type: 'fail',
    title: 'Fail',
    initial: { message: 'Failed.' },
    fields: [text('message', 'Message', templates), line('code', 'Code')],
  },
];

export const stepKindOf = (type: unknown): StepKind | undefined => stepKinds.find((kind) => kind.type === type);

export interface StepDefinition extends Record<string, unknown> {
  id: string;
  type: string;
}

/** All ids of a definition's steps, in any of its lists. */
export function idsOf(steps: readonly StepDefinition[]): string[] {
  return steps.flatMap((step) => [
    step.id,
    ...idsOf((step.steps as StepDefinition[] | undefined) ?? []),
    ...((step.branches as { steps: StepDefinition[] }[] | undefined) ?? []).flatMap((branch) =>
      idsOf(branch.steps ?? []),
    ),
  ]);
}

/** A new step with an id that no other has. */
export function newStep(type: string, taken: readonly string[]): StepDefinition {
  const kind = stepKindOf(type)!;
  const free = (name: string) => {
    let id = name;
    for (let count = 2; taken.includes(id); count++) id = `${name}_${count}`;
    return id;
  };
  const rename = (step: StepDefinition): StepDefinition => ({ ...step, id: free(step.id) });
  const initial = structuredClone(kind.initial);
  if (Array.isArray(initial.steps)) initial.steps = (initial.steps as StepDefinition[]).map(rename);
  if (Array.isArray(initial.branches)) {
    initial.branches = (initial.branches as { steps: StepDefinition[] }[]).map((branch) => ({
      ...branch,
      steps: branch.steps.map(rename),
    }));
  }
  return { id: free(type), type, ...initial };
}

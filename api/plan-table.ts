import { type Plan, type PlanName, planNames, plans } from '../src/tenancy/core/plans.ts';

const gib = 1024 ** 3;

const fromPlan = (label: string, numberOf: (plan: Plan) => number): [string, (name: PlanName) => number] => [
  label,
  (name) => numberOf(plans[name]),
];

const rows: [label: string, numberOf: (name: PlanName) => number][] = [
  fromPlan('requests per minute', (plan) => plan.requestsPerMinute),
  fromPlan('requests per UTC day', (plan) => plan.requestsPerDay),
  fromPlan('text to speech, requests per minute', (plan) => plan.operationsPerMinute.tts),
  fromPlan('speech to text, requests per minute', (plan) => plan.operationsPerMinute.stt),
  fromPlan('open event streams', (plan) => plan.eventStreams),
  fromPlan('waiting synchronous requests', (plan) => plan.waitingRequests),
  fromPlan('workflows', (plan) => plan.workflows),
  fromPlan('schedules', (plan) => plan.schedules),
  fromPlan('webhooks', (plan) => plan.webhooks),
  fromPlan('deliveries that wait', (plan) => plan.waitingDeliveries),
  fromPlan('hosts of scheduling', (plan) => plan.hosts),
  fromPlan('recurring patterns', (plan) => plan.recurringPatterns),
  fromPlan('blackout periods', (plan) => plan.blackoutPeriods),
  fromPlan('event types of scheduling', (plan) => plan.eventTypes),
  fromPlan('runs that call out at the same time', (plan) => plan.callingRuns),
  fromPlan('messages to models under way', (plan) => plan.openMessages),
  fromPlan('voice calls under way', (plan) => plan.openVoiceCalls),
  fromPlan('actions of integrations under way', (plan) => plan.openActions),
  fromPlan('delayed actions of integrations', (plan) => plan.scheduledActions),
  fromPlan('days for which runs and generations are kept', (plan) => plan.retentionDays),
  fromPlan('GiB of files, inputs and outputs', (plan) => plan.storageBytes / gib),
  fromPlan('credits per month, live', (plan) => plan.monthlyCredits),
];

const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;

/** The limits of every plan as a Markdown table, for the reference and the guide to limits. */
export const planTable = (): string =>
  [
    line(['limit', ...planNames]),
    line(['---', ...planNames.map(() => '---:')]),
    ...rows.map(([label, numberOf]) =>
      line([label, ...planNames.map((name) => numberOf(name).toLocaleString('en-US'))]),
    ),
  ].join('\n');

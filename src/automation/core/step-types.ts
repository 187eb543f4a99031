// The types of steps: those of every workflow, and those that only flows have.

export const providers = ['ANTHROPIC', 'OPENAI', 'GOOGLE'] as const;
export type Provider = (typeof providers)[number];

export interface ModelChoice {
  provider: Provider;
  model: string;
}

/** A step that renders its template and calls a text model. */
export interface PromptStep {
  id: string;
  type: 'prompt';
  name?: string | undefined;
  /** Template; absent means `{{input}}`. */
  prompt?: string | undefined;
  provider?: Provider | undefined;
  model?: string | undefined;
  /** A template, like `prompt`. */
  system?: string | undefined;
  /** 0 to 1. */
  temperature?: number | undefined;
  maxTokens?: number | undefined;
  /** JSON Schema. The model must answer with JSON that matches it, which becomes the output. */
  outputSchema?: Record<string, unknown> | undefined;
  /** `maxAttempts` includes the first one. */
  retry?: { maxAttempts: number } | undefined;
  /** Called in this order, each after a temporary failure of the one before. */
  fallback?: ModelChoice[] | undefined;
  /** Ids of tool servers whose tools the model may call. */
  tools?: string[] | undefined;
}

interface ExpressionStep {
  id: string;
  name?: string | undefined;
  /** A CEL expression; if it is absent, `prompt` is the expression. */
  expression?: string | undefined;
  prompt?: string | undefined;
}

/** A step whose output is the value of its expression. */
export interface TransformStep extends ExpressionStep {
  type: 'transform';
}

/** A step that chooses the next step. */
export interface ConditionStep extends ExpressionStep {
  type: 'condition';
  /** Id of a later step, or `end`. Absent: the next step. */
  then?: string | undefined;
  /** Id of a later step, or `end`. Absent: the run completes. */
  else?: string | undefined;
}

/** A step that performs an action with a connected third-party tool. Its output is the action's answer. */
export interface ActionStep {
  id: string;
  type: 'action';
  name?: string | undefined;
  /** The id of the integration, and the action's within it. */
  integration: string;
  action: string;
  /** Its strings are templates. */
  payload: Record<string, unknown>;
  /** How often it is tried in all while its integration is limited. Default: once. */
  retry?: { maxAttempts: number } | undefined;
}

interface StepBase {
  id: string;
  name?: string | undefined;
}

/** A number of seconds or a text, read by `readDuration`. */
type DurationText = number | string;

/** The reaction of a container to a failed branch or item. */
export const containerModes = ['fail_fast', 'settled'] as const;
type ContainerMode = (typeof containerModes)[number];

/** How many branches or items of a container run at the same time. */
export const containerConcurrency = { byDefault: 5, max: 20 } as const;

interface Container extends StepBase {
  /** Default: `fail_fast`. */
  mode?: ContainerMode | undefined;
  /** Default: 5. */
  concurrency?: number | undefined;
}

export interface Branch {
  /** Unique in its container. */
  id: string;
  name?: string | undefined;
  steps: Step[];
}

export const branchCount = { min: 2, max: 20 } as const;

/** A step that executes its branches side by side. */
export interface ParallelStep extends Container {
  type: 'parallel';
  branches: Branch[];
}

export const maxItems = 1_000;

/** A step that executes its list of steps once for each item. */
export interface MapStep extends Container {
  type: 'map';
  /** A CEL expression whose value is a list. */
  items: string;
  steps: Step[];
}

export const maxWaitSeconds = 366 * 86_400;

/** A step that waits for a time. It has exactly one of `for` and `until`. */
export interface WaitStep extends StepBase {
  type: 'wait';
  for?: DurationText | undefined;
  /** A template for a moment in RFC 3339 form. */
  until?: string | undefined;
}

export const maxTimeoutSeconds = 90 * 86_400;
export const maxLookBackSeconds = 3_600;

/** A step that waits for an event. */
export interface EventStep extends StepBase {
  type: 'event';
  event: string;
  /** A CEL expression over the event and the run. */
  match?: string | undefined;
  /** Default: `P7D`. */
  timeout?: DurationText | undefined;
  /** Default: `fail`. */
  onTimeout?: 'fail' | 'continue' | undefined;
  /** Seconds before the step began in which the event may have arrived. Default: 0. */
  lookBack?: number | undefined;
}

export const defaultEventTimeout = 'P7D';

export interface ApprovalAction {
  id: string;
  label: string;
  /** Whether the answer takes no values of the form. */
  skipForm?: boolean | undefined;
}

export const defaultApprovalTimeout = 'PT72H';
/** The actions of an approval that names none. */
export const defaultApprovalActions: readonly ApprovalAction[] = [
  { id: 'approve', label: 'Approve' },
  { id: 'reject', label: 'Reject', skipForm: true },
];

/** A step that waits for a person's answer. */
export interface ApprovalStep extends StepBase {
  type: 'approval';
  /** A template. */
  message: string;
  /** Default: approve and reject. */
  actions?: ApprovalAction[] | undefined;
  /** JSON Schema of an object with scalar properties. */
  form?: Record<string, unknown> | undefined;
  /** Templates of e-mail addresses. */
  approvers?: string[] | undefined;
  /** Default: `PT72H`. */
  timeout?: DurationText | undefined;
  /** `fail` (the default), or the id of an action that the timeout takes. */
  onTimeout?: string | undefined;
}

/** A step that starts a run of another workflow. */
export interface WorkflowStep extends StepBase {
  type: 'workflow';
  /** As the API shows it. */
  workflowId: string;
  /** Values whose strings are templates. */
  input?: unknown;
  variables?: Record<string, unknown> | undefined;
  /** Default: `wait`, which waits for the child's end and has its result as output. */
  mode?: 'wait' | 'detach' | undefined;
  version?: number | undefined;
}

export const httpMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;
export type HttpMethod = (typeof httpMethods)[number];

/** A step that sends a request to another system. */
export interface HttpStep extends StepBase {
  type: 'http';
  /** Default: GET. */
  method?: HttpMethod | undefined;
  /** A template. */
  url: string;
  query?: Record<string, unknown> | undefined;
  headers?: Record<string, unknown> | undefined;
  body?: unknown;
  /** Names of secrets by header. */
  secretHeaders?: Record<string, string> | undefined;
  /** Default: 30. */
  timeoutSeconds?: number | undefined;
  /** Codes, or classes such as `2xx`. Default: `["2xx"]`. */
  successStatus?: (number | string)[] | undefined;
  /** Attempts in all. Default: 3 for methods that may be repeated, else 1. */
  retry?: { maxAttempts: number } | undefined;
}

/** A step that fails its run. */
export interface FailStep extends StepBase {
  type: 'fail';
  /** A template. */
  message: string;
  /** Default: `failed_by_step`. */
  code?: string | undefined;
}

/**
 * The type of a step that a feature hands in (see `StepKind`): a text that is none of the other types. For the compiler it is a
 * value of its own, which distinguishes these steps from the others.
 */
export declare enum FeatureStepType {
  OfFeature = '(of a feature)',
}

/** A step that uses a feature of the product as its endpoint does. */
export interface FeatureStep extends StepBase {
  type: FeatureStepType;
  /** The body of the endpoint. Its strings are templates. */
  payload: Record<string, unknown>;
}

/** Types that make a definition a flow, besides those of features. */
export const flowStepTypes = ['parallel', 'map', 'wait', 'event', 'approval', 'workflow', 'http', 'fail'] as const;

export type ContainerStep = ParallelStep | MapStep;
export type FlowStep =
  | ContainerStep
  | WaitStep
  | EventStep
  | ApprovalStep
  | WorkflowStep
  | HttpStep
  | FailStep
  | FeatureStep;
/** The steps of definitions that are no flows. */
export type LinearStep = PromptStep | TransformStep | ConditionStep | ActionStep;
export type Step = LinearStep | FlowStep;
export type LeafStep = Exclude<Step, ContainerStep>;

export const isContainer = (step: Step): step is ContainerStep => step.type === 'parallel' || step.type === 'map';

const linearTypes: ReadonlySet<string> = new Set(['prompt', 'transform', 'condition', 'action']);
const flowTypes: ReadonlySet<string> = new Set(flowStepTypes);
export const isFeatureType = (type: string): type is FeatureStepType => !linearTypes.has(type) && !flowTypes.has(type);
export const isFeatureStep = (step: Step): step is FeatureStep => isFeatureType(step.type);

/** Whether a feature performs a step, in definitions of any kind. */
export const isOfFeature = (step: Step): step is FeatureStep | ActionStep =>
  step.type === 'action' || isFeatureStep(step);

export const isLinearStep = (step: Step): step is LinearStep => linearTypes.has(step.type);

/** Whether a definition has a step that only flows have. */
export const isFlow = (steps: readonly Step[]): boolean => !steps.every(isLinearStep);

/** The lists of steps inside a container, one for each branch; a map has one for all of its items. */
export const listsOf = (step: ContainerStep): readonly (readonly Step[])[] =>
  step.type === 'map' ? [step.steps] : step.branches.map(({ steps }) => steps);

/** Every step of a definition, in any of its lists. */
export function* stepsIn(steps: readonly Step[]): Generator<Step> {
  for (const step of steps) {
    yield step;
    if (isContainer(step)) for (const list of listsOf(step)) yield* stepsIn(list);
  }
}

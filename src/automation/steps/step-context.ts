import type { ExpressionVariable } from '../core/expression.ts';
import type { AskedModel, RunError, RunErrorCode } from '../core/run-status.ts';
import type { ModelChoice } from '../core/steps.ts';
import type { TemplateValues, Warning } from '../core/template.ts';
import type { Storable } from './storable.ts';

/** The values of a step, with outputs as they are stored. */
export type StoredValues = Omit<TemplateValues, 'steps'> & { steps: Record<string, Storable> };

/** The data of its run that the execution of one step needs. */
export interface StepContext {
  readonly runId: string;
  /** The position in the step's row. */
  readonly position: number;
  /** The dotted path of a step within others; absent for one of the run's own list. */
  readonly path?: string;
  /** The model of steps that name none. */
  readonly byDefault: ModelChoice;
  /** The same whenever the step is executed anew, so that an action is performed once. */
  readonly actionKey: string;
  /** What its expressions can use: `itemVariables` within a map. Absent: `stepVariables`. */
  readonly variables?: readonly ExpressionVariable[];
  /**
   * The values for the templates and expressions of the step.
   * @param steps those whose outputs it names
   * @throws OutputsTooLarge; StorageFailure
   */
  values(steps: ReadonlySet<string> | 'all'): Promise<TemplateValues>;
  /** The same, without parsing outputs. */
  storedValues(steps: ReadonlySet<string> | 'all'): Promise<StoredValues>;
}

export interface StepFault {
  status: 'failed';
  code: RunErrorCode;
  message: string;
  details?: Record<string, unknown>;
  fault?: RunError['fault'];
}

type EndOf<Output> = { tokensUsed?: number; warnings?: Warning[]; models?: AskedModel[] } & (
  | { status: 'completed'; output: Output }
  | StepFault
);

/** How a step ended, apart from when and where. */
export type StepEnd = EndOf<Storable>;

/** The same, and the model that decided that. */
export type StepOutcome = StepEnd & { asked?: ModelChoice };

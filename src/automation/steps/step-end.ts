import type { AskedModel, RunError, RunErrorCode } from '../core/run-status.ts';
import type { ModelChoice } from '../core/steps.ts';
import type { Warning } from '../core/template.ts';
import type { Storable } from './storable.ts';

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

import type { OpenApproval } from './approval-answer.ts';
import type { RunErrorCode } from './run-status.ts';

/** The calls of tools that the model of a step asked for. Round 0: its tools must be listed first. */
export interface LeafTools {
  position: number;
  /** Dotted. */
  path: string;
  round: number;
  calls: number[];
}

/**
 * What a flow needs next.
 * - walk: more steps that answer at once
 * - drive: steps call out, after a pause if it says one
 * - tools: the models of these steps call tools, and are called again after them
 * - slot: as `drive`, but the organization is at its limit of steps that call out: the workflow is signalled when it has a slot
 * - waits: all that is open waits, the next one until then; the approvals among them, unless there are too many
 * - ended: the run has ended and its end is recorded
 * - gone: the run was deleted or ended elsewhere; nothing is left to do
 */
export type FlowProgress =
  | { kind: 'walk' }
  | { kind: 'drive'; stepId?: string | undefined; afterMs?: number | undefined }
  | { kind: 'tools'; leaves: LeafTools[] }
  | { kind: 'slot' }
  | { kind: 'waits'; dueInMs: number | null; details: string; approvals?: OpenApproval[] | undefined }
  | { kind: 'ended'; status: 'completed' }
  | { kind: 'ended'; status: 'failed'; stepId: string | undefined; code: string | RunErrorCode }
  | { kind: 'gone' };

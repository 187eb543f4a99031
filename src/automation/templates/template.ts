import type { InputDefinition } from '../core/inputs.ts';
import type { NewTrigger } from '../events/triggers.ts';

/** A workflow of the gallery, as a save takes it. */
export interface WorkflowTemplate {
  id: string;
  name: string;
  /** Its purpose, in a sentence or two. */
  description: string;
  inputs: InputDefinition[];
  steps: Record<string, unknown>[];
  triggers?: NewTrigger[];
  schedule?: { cron: string; timezone: string; variables?: Record<string, unknown> };
  /** A body that executes it. */
  example: { input?: unknown; variables?: Record<string, unknown> };
}

/** A required input of type string. */
export const text = (name: string, description: string): InputDefinition => ({
  name,
  type: 'string',
  required: true,
  description,
});

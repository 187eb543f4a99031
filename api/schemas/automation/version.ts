import { z } from '@hono/zod-openapi';
import { providers } from '../../../src/automation/core/step-types.ts';
import { maxVersions } from '../../../src/automation/versions/versions.ts';
import { freeForm } from '../free-form.ts';
import { idInPath } from '../ids.ts';
import { inDialect, orNull } from '../in-dialect.ts';
import { flatPage, paginationSchema } from '../pagination.ts';
import { inputDefinition } from './workflow.ts';
import { exampleWorkflowIds } from './workflow-examples.ts';

const maxVersionNumber = 2_000_000_000;
const isNumber = (text: string) => /^[1-9]\d{0,9}$/.test(text) && Number(text) <= maxVersionNumber;

export const workflowInPath = idInPath(exampleWorkflowIds);
export const versionInPath = workflowInPath.extend({
  version: z
    .string()
    .openapi({ param: { name: 'version', in: 'path', example: '1' }, description: 'The number of the version.' }),
});

/** A path that names no number names no version. */
export const readVersion = (text: string): number => (isNumber(text) ? Number(text) : 0);

export const versionQuery = z.object({
  to: z.string().refine(isNumber, 'Expected the number of a version.').optional().openapi({
    type: 'integer',
    minimum: 1,
    maximum: maxVersionNumber,
    description: 'The other version. Default: the current one.',
    example: 1,
  }),
});

const saved = {
  version: z.int(),
  createdAt: z.iso.datetime(),
  createdBy: z.string().nullable().openapi({
    description: 'The id of the key that saved it, as the audit log has it; null where that was not recorded.',
  }),
};

const versionSchema = z
  .object({
    ...saved,
    changes: z.array(z.string()).openapi({
      description: 'The differences from the previous version, as dotted paths such as `steps.1.prompt`; at most 50.',
    }),
    isCurrent: z.boolean(),
  })
  .openapi('WorkflowVersion');

const definitionSchema = z
  .object({
    steps: z.array(freeForm),
    config: freeForm,
    aiModel: z.string(),
    aiProvider: z.enum(providers),
    inputs: z.array(inputDefinition),
    concurrency: orNull(freeForm),
    maxDurationSeconds: z.int().nullable(),
  })
  .openapi('WorkflowDefinition', { description: 'The part of a workflow that a version keeps. A save accepts it.' });

export const versionDetailSchema = z
  .object({ ...saved, definition: definitionSchema })
  .openapi('WorkflowVersionDetail');

export const versionListSchema = z.union([
  inDialect('WorkflowVersionListA', 'pagination', { versions: z.array(versionSchema), pagination: paginationSchema }),
  inDialect('WorkflowVersionListB', 'total', { versions: z.array(versionSchema), ...flatPage }),
]);

export const patchSchema = z
  .array(
    z
      .object({
        op: z.enum(['add', 'remove', 'replace', 'move', 'copy', 'test']),
        path: z.string(),
        from: z.string().optional(),
        value: z.unknown().optional(),
      })
      .openapi('PatchOperation'),
  )
  .openapi({ description: 'A JSON Patch (RFC 6902).' });

export const versionsDescription = `The newest ${maxVersions.toLocaleString('en-US')} are listed, newest first.`;

const version = {
  version: 1,
  createdAt: '2026-11-21T09:30:00.000Z',
  createdBy: 'key_0199aaaabbbb7ccc8dddeeeeffff0001',
};
const listed = { ...version, changes: [], isCurrent: true };
const definition = (type: string) => ({
  steps: [{ id: 'summarize', type, prompt: 'Summarize: {{input}}' }],
  config: {},
  aiModel: 'claude-sonnet-4-20250514',
  aiProvider: 'ANTHROPIC' as const,
  inputs: [],
  concurrency: null,
  maxDurationSeconds: null,
});
export const versionListExamples = {
  A: { versions: [listed], pagination: { total: 1, limit: 50, offset: 0, hasMore: false } },
  B: { versions: [listed], total: 1, limit: 20, offset: 0 },
};
export const versionExamples = {
  A: { ...version, definition: definition('prompt') },
  B: { ...version, definition: definition('ai_chat') },
};
const patch = [{ op: 'replace' as const, path: '/steps/0/prompt', value: 'Summarize in one sentence: {{input}}' }];
export const patchExamples = { A: patch, B: patch };

import { z } from '@hono/zod-openapi';
import { maxSteps, stepIdPattern } from '../../../src/automation/core/steps.ts';
import { countedRecord } from '../counted-record.ts';
import { executeSchema } from './run.ts';

const mockedOutput = z.strictObject({ output: z.unknown() }).openapi('MockedOutput');
const mockedError = z
  .strictObject({
    error: z
      .object({ message: z.string().max(2_000), code: z.string().regex(/^[a-z0-9_]{1,40}$/) })
      .openapi('MockedFailure'),
  })
  .openapi('MockedError');

const mock = z
  .union([mockedOutput, mockedError], 'Expected an object with either `output` or `error`.')
  .openapi('StepMock', { description: 'The step ends with this output, or fails with this error.' });

export const testRunSchema = z
  .object({
    ...executeSchema.pick({ input: true, variables: true, inputs: true, version: true }).shape,
    mocks: countedRecord(z.record(z.string().regex(stepIdPattern), mock), maxSteps)
      .refine((mocks) => Buffer.byteLength(JSON.stringify(mocks)) <= 262_144, 'Expected at most 256 KiB as JSON.')
      .optional()
      .openapi({
        description:
          'Mocks by step id: a step with a mock is not executed and ends with its mock. The mock of a step in a map applies to every item. At most 256 KiB as JSON.',
      }),
  })
  .openapi('TestRun');
export type TestRunBody = z.output<typeof testRunSchema>;

const mocks = { summarize: { output: 'Sales grew.' } };
export const testRunExamples = {
  A: { input: 'the quarterly report', mocks },
  B: { inputs: { text: 'the quarterly report' }, mocks },
};

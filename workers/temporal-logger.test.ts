import { expect, test } from '@jest/globals';
import { openLog } from '../src/platform/observability/log.ts';
import { temporalLogger } from './temporal-logger.ts';

test('an error that the SDK logs is named, and so is its cause', () => {
  const lines: string[] = [];
  const log = openLog('info', 'test', { destination: { write: (line: string) => lines.push(line) } });
  const error = new Error('The activity failed.', { cause: new Error('It timed out.') });
  temporalLogger(log).warn('Activity failed', { activityType: 'walkSteps', error });
  expect(JSON.parse(lines[0]!).temporal).toMatchObject({
    activityType: 'walkSteps',
    error: { type: 'Error', message: 'The activity failed.: It timed out.', stack: expect.any(String) },
  });
});

import { until } from '../until.ts';

/**
 * Cancels the workflow of work that does not end by itself, as an operator does.
 * @param findId of the workflow, once the work is under way
 * @returns the id of the workflow, when it has ended
 */
export async function cancelUnderWay(
  work: Promise<unknown>,
  findId: () => Promise<string | undefined>,
  cancel: (workflowId: string) => Promise<unknown>,
): Promise<string> {
  const workflowId = await until('it is under way', findId);
  await until('it is started', () =>
    cancel(workflowId).then(
      () => true,
      () => false,
    ),
  );
  await work;
  return workflowId;
}

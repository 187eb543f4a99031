import type { Stand } from '../stand.ts';

/** Creates a workflow of so many prompt steps, which the sandbox model answers at once. @returns its id, a uuid */
export async function createWorkflowOfSteps({ client }: Stand, count: number): Promise<string> {
  const steps = Array.from({ length: count }, (_, index) => ({
    id: `step${index + 1}`,
    type: 'prompt',
    prompt: index === 0 ? 'Say in {{style}} words: {{input}}' : `Again: {{steps.step${index}.output}}`,
  }));
  const { id } = await client.post<{ id: string }>('/api/v1/workflows', { name: `${count} steps`, steps });
  return id;
}

/** Executes it and waits for its end. Throws unless it completed. */
export async function executeToEnd({ client }: Stand, id: string): Promise<void> {
  const body = { input: 'a text of some words', variables: { style: 'plain' } };
  const { status } = await client.post<{ status: string }>(`/api/v1/workflows/${id}/execute`, body);
  if (status !== 'COMPLETED') throw new Error(`A run ended as ${status}.`);
}

import { readdirSync } from 'node:fs';

const contracts = new URL('../../src/temporal/contracts/', import.meta.url);

/** The workflow types that the contracts name, each in an export like `webhookWorkflows`, or in that of a job. */
export async function workflowTypes(): Promise<string[]> {
  const modules = await Promise.all(readdirSync(contracts).map((file) => import(new URL(file, contracts).href)));
  return modules.flatMap((module: Record<string, object>) =>
    Object.entries(module).flatMap(([name, exported]) => {
      if (name.endsWith('Workflows')) return Object.values(exported);
      return name.endsWith('Contract') ? [(exported as { workflow: string }).workflow] : [];
    }),
  );
}

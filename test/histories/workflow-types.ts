import { readdirSync } from 'node:fs';

const contracts = new URL('../../src/temporal/contracts/', import.meta.url);

/** The workflow types that the contracts name, each in an export like `webhookWorkflows`. */
export async function workflowTypes(): Promise<string[]> {
  const modules = await Promise.all(readdirSync(contracts).map((file) => import(new URL(file, contracts).href)));
  return modules.flatMap((module: Record<string, object>) =>
    Object.entries(module)
      .filter(([name]) => name.endsWith('Workflows'))
      .flatMap(([, types]) => Object.values(types)),
  );
}

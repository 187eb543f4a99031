import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import { WorkTooCostly } from '../../platform/bounded-work/task.ts';
import { invalid } from '../../platform/errors.ts';
import type { TenantKey } from '../../platform/security/tenant-key.ts';
import { readYaml, writeYaml } from '../bounded/bounded-tasks.ts';

const refuse = (message: string) => invalid([{ path: '', message }]);

/** @returns what a YAML document is as JSON. @throws AppError validation_error */
export async function jsonOfYaml(work: BoundedWork, tenantKey: TenantKey, text: string): Promise<string> {
  try {
    const read = await work.run(readYaml, tenantKey, text);
    if ('problem' in read) throw refuse(read.problem);
    return read.json;
  } catch (error) {
    throw error instanceof WorkTooCostly ? refuse(`The YAML is too costly to read: ${error.message}`) : error;
  }
}

/** A value as YAML. If that takes too long, or becomes too long, the value is written as JSON, which is YAML too. */
export async function yamlOf(work: BoundedWork, tenantKey: TenantKey, value: unknown): Promise<string> {
  const text = await work.run(writeYaml, tenantKey, value).catch((error: unknown) => {
    if (error instanceof WorkTooCostly) return null;
    throw error;
  });
  return text ?? `${JSON.stringify(value)}\n`;
}

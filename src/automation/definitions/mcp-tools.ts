import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { type RowOf, statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { AppError } from '../../platform/errors.ts';
import type { InputDefinition } from '../core/inputs.ts';
import { isFixedTool, type McpSetting, maxToolWorkflows, toolNameOf } from '../core/mcp-tools.ts';

const findRoom = statement({
  name: 'mcp_tool.room',
  parameters: { automationId: 'uuid', toolName: 'text' },
  row: { others: 'int', isTaken: 'boolean' },
  text: `select count(*)::int as others, coalesce(bool_or(tool_name = :toolName), false) as "isTaken" from automation
    where organization_id = :organizationId and environment = :environment and deleted_at is null and tool_name is not null
      and id <> :automationId`,
});

const taken = (name: string) => new AppError('conflict', `Another tool has the name ${name}.`, { name });

/**
 * The name of the tool that a workflow becomes; null if it becomes none. The transaction holds the lock `workflows`, so
 * that two workflows take neither the same name nor the last free number.
 * @throws AppError conflict where the name is taken; forbidden where the environment has as many tools as it may
 */
export async function claimToolName(
  tx: Transaction,
  automationId: string,
  setting: McpSetting | null,
): Promise<string | null> {
  const toolName = toolNameOf(automationId, setting);
  if (toolName === null) return null;
  if (isFixedTool(toolName)) throw taken(toolName);
  const { others, isTaken } = (await tx.one(findRoom, { automationId, toolName }))!;
  if (isTaken) throw taken(toolName);
  if (others < maxToolWorkflows) return toolName;
  const message = `At most ${maxToolWorkflows} workflows of an environment are tools.`;
  throw new AppError('forbidden', message, { limit: maxToolWorkflows });
}

/** Bytes of input definitions and of an output schema that a tool shows. Larger ones are not described. */
const shownBytes = { inputs: 64 * 1024, outputSchema: 16 * 1024 };
/** Bytes of the shown part of a page's tools, besides the last one's. */
const pageBytes = 512 * 1024;

// A run of the workflow ends with the output of its last step, unless a condition ends it before.
const columns = `a.id, a.tool_name as name, a.name as title, coalesce(a.mcp ->> 'description', a.description) as description,
  case when octet_length(d.inputs::text) <= ${shownBytes.inputs} then d.inputs end as inputs,
  case when octet_length((d.steps -> -1 -> 'outputSchema')::text) <= ${shownBytes.outputSchema}
        and not exists (select from json_array_elements(d.steps) step where step ->> 'type' = 'condition')
       then d.steps -> -1 -> 'outputSchema' end as "outputSchema"`;
const row = {
  id: 'uuid',
  name: typed<string>('text?'),
  title: 'text',
  description: 'text?',
  inputs: typed<InputDefinition[] | null>('json?'),
  outputSchema: typed<Record<string, unknown> | null>('json?'),
} as const;
const live = `from automation a join definition d on d.id = a.definition_id
  where a.organization_id = :organizationId and a.environment = :environment and a.deleted_at is null and a.state = 'active'`;

const findPage = statement({
  name: 'mcp_tool.page',
  parameters: { after: 'text', limit: 'int' },
  row,
  text: `with page as (
     select ${columns} ${live} and a.tool_name > :after order by a.tool_name limit :limit),
   sized as (
     select *, coalesce(octet_length(inputs::text), 0) + coalesce(octet_length("outputSchema"::text), 0) as bytes from page)
   select id, name, title, description, inputs, "outputSchema"
     from (select *, sum(bytes) over (order by name) - bytes as before from sized) summed
    where before <= ${pageBytes} order by name`,
});

const findOne = statement({
  name: 'mcp_tool.by_name',
  parameters: { name: 'text' },
  row,
  text: `select ${columns} ${live} and a.tool_name = :name`,
});

const existsAfter = statement({
  name: 'mcp_tool.exists_after',
  parameters: { after: 'text' },
  row: { found: 'boolean' },
  text: `select exists (select from automation a
    where a.organization_id = :organizationId and a.environment = :environment and a.deleted_at is null and a.state = 'active'
      and a.tool_name > :after) as found`,
});

/** A workflow that assistants see. `inputs` is null where they are too large to be shown. */
export type WorkflowTool = RowOf<typeof findOne> & { name: string };

/** Tools by their names. Inactive workflows are none. @returns at most `limit`, fewer where they are large */
export async function listWorkflowTools(
  scope: Scope,
  { after, limit }: { after: string; limit: number },
): Promise<{ tools: WorkflowTool[]; hasMore: boolean }> {
  const tools = (await scope.rows(findPage, { after, limit })) as WorkflowTool[];
  const last = tools.at(-1)?.name ?? after;
  const hasMore = (await scope.one(existsAfter, { after: last }))!.found;
  return { tools, hasMore };
}

export const findWorkflowTool = (scope: Scope, name: string): Promise<WorkflowTool | undefined> =>
  scope.one(findOne, { name }) as Promise<WorkflowTool | undefined>;

import { inBatches } from '../../platform/database/batches.ts';
import type { Database } from '../../platform/database/database.ts';
import { recordPatiently } from '../../platform/database/database-errors.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { sqlOn, statement, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { auditParameters, auditSql } from '../../platform/security/audit.ts';
import { countTokens } from '../../tenancy/index.ts';
import type { AskedCall } from '../../tools/core/rounds.ts';
import type { CalledTool, DeclaredTool, Round, RoundAnswer } from '../../tools/index.ts';
import { openRun } from '../core/run-status.ts';
import type { ModelChoice } from '../core/steps.ts';
import { usedTokens } from '../runs/events-and-use.ts';
import { storable } from './storable.ts';

/** Identifies a step of a run. */
export interface StepRef {
  runId: string;
  position: number;
}

/** Which call of a step: the round, from 1, and the position in the model's answer, from 0. */
export interface StepCallRef extends StepRef {
  round: number;
  call: number;
}

/** An answer that requested tools, and its model. */
interface AskedRound extends RoundAnswer {
  asked: ModelChoice;
}

/**
 * The tools that the model of a step is offered, or the reason why there are none: a server could not list its tools.
 */
type OfferedTools = DeclaredTool[] | { unavailable: string };

/** The tool calls of a step so far. */
interface ToolUse {
  /** Undefined until the servers have been asked. */
  offered: OfferedTools | undefined;
  rounds: (Round & AskedRound)[];
  /** Bytes of the arguments and results that the whole run keeps. */
  keptBytes: number;
}

/** Maximum length, as JSON, of a call's arguments in the result of the step. Larger ones are not kept. */
const keptArguments = 32 * 1024;

const findRounds = statement({
  name: 'run_step.rounds',
  parameters: { runId: 'uuid', position: 'int' },
  row: { round: 'smallint', content: 'text' },
  text: `select round, content from run_step_round
    where organization_id = :organizationId and environment = :environment and run_id = :runId and position = :position order by round`,
});

const findResults = statement({
  name: 'run_step.results',
  parameters: { runId: 'uuid', position: 'int' },
  row: { round: 'smallint', call: 'smallint', result: 'text', isError: 'boolean' },
  text: `select round, call, result, is_error as "isError" from run_step_call
    where organization_id = :organizationId and environment = :environment and run_id = :runId and position = :position and result is not null`,
});

const sumKept = statement({
  name: 'run_step.kept_calls',
  parameters: { runId: 'uuid' },
  row: { bytes: 'int' },
  text: `select coalesce(sum(coalesce(octet_length(args), 0) + coalesce(octet_length(result), 0)), 0)::int as bytes
     from run_step_call where organization_id = :organizationId and environment = :environment and run_id = :runId`,
});

export async function readToolUse(scope: Scope, { runId, position }: StepRef): Promise<ToolUse> {
  const found = await scope.rows(findRounds, { runId, position });
  const rounds: ToolUse['rounds'] = [];
  let offered: OfferedTools | undefined;
  for (const { round, content } of found) {
    if (round === 0) offered = JSON.parse(content);
    else rounds.push({ round, ...(JSON.parse(content) as AskedRound), results: new Map() });
  }
  if (rounds.length === 0) return { offered, rounds, keptBytes: 0 };
  for (const { round, call, result, isError } of await scope.rows(findResults, { runId, position })) {
    rounds[round - 1]?.results.set(call, { text: result, isError });
  }
  const { bytes } = (await scope.one(sumKept, { runId }))!;
  return { offered, rounds, keptBytes: bytes };
}

// Only while the step is being executed: what an attempt finds out that lost it is not recorded.
const running = `from run_step s join run r on r.id = s.run_id
    where s.organization_id = :organizationId and s.environment = :environment and s.run_id = :runId and s.position = :position
      and s.status = 'running' and r.status in (${openRun})`;

/** Facts about the tools of a step before its servers are asked. */
interface NamedTools {
  servers: string[] | null;
  /** The maximum attempts of the step itself. */
  maxAttempts: number | null;
}

const findServers = statement({
  name: 'run_step.servers',
  parameters: { runId: 'uuid', position: 'int' },
  row: { servers: typed<string[] | null>('json?'), maxAttempts: 'int?' },
  text: `select step -> 'tools' as servers, (step -> 'retry' ->> 'maxAttempts')::int as "maxAttempts"
     from run_step s join run r on r.id = s.run_id join definition d on d.id = r.definition_id
    cross join lateral (select case when s.path is null then d.steps -> :position else (
             jsonb_path_query_first(d.steps::jsonb, 'strict $.** ? (@.type == "prompt" && @.id == $id)',
                                    jsonb_build_object('id', s.step_id), true))::json end as step) as found
    where s.organization_id = :organizationId and s.environment = :environment and s.run_id = :runId and s.position = :position
      and s.status = 'running' and r.status in (${openRun})
      and not exists (select from run_step_round o where o.run_id = s.run_id and o.position = s.position and o.round = 0)`,
});

/** The tool servers that a step names; undefined when they have said already which tools they have, or the step is over. */
export const findServersToAsk = (scope: Scope, { runId, position }: StepRef): Promise<NamedTools | undefined> =>
  scope.one(findServers, { runId, position });

// Finding out was an attempt of the step that is not shown as one, as each round is.
const insertTools = statement({
  name: 'run_step.record_tools',
  parameters: { runId: 'uuid', position: 'int', content: 'text' },
  row: { id: 'uuid' },
  text: `with recorded as (
     insert into run_step_round (run_id, position, round, organization_id, environment, content)
     select s.run_id, s.position, 0, :organizationId, :environment, :content ${running}
     on conflict do nothing
     returning run_id as id)
   update run_step set rounds = rounds + 1
    where run_id in (select id from recorded) and position = :position
   returning run_id as id`,
});

/** Stores the tools that the model of a step is offered, so that they are the same in each round. */
export async function recordOffered(scope: Scope, step: StepRef, offered: OfferedTools): Promise<void> {
  await scope.rows(insertTools, { runId: step.runId, position: step.position, content: JSON.stringify(offered) });
}

// The tokens are counted here: they are spent, whatever becomes of the step.
const insertRound = statement({
  name: 'run_step.record_round',
  parameters: { runId: 'uuid', position: 'int', round: 'smallint', content: 'text', tokens: 'bigint' },
  row: { id: 'uuid', automationId: 'uuid', keyId: 'uuid?', isTest: 'boolean', model: 'text?' },
  counts: ({ automationId, keyId, isTest, model }, { tokens }) =>
    isTest ? [] : usedTokens({ automationId, keyId }, [{ model, tokens: Number(tokens) }]),
  text: `with recorded as (
     insert into run_step_round (run_id, position, round, organization_id, environment, content)
     select s.run_id, s.position, :round, :organizationId, :environment, :content ${running}
     on conflict do nothing
     returning run_id as id),
   counted as (${countTokens(':tokens', '(select from recorded where not exists (select from run where id = :runId and is_test)) spent')}),
   moved as (
     update run_step set rounds = rounds + 1, tokens_used = coalesce(tokens_used, 0) + :tokens
      where run_id in (select id from recorded) and position = :position),
   spent as (
     update run set tokens_used = coalesce(tokens_used, 0) + :tokens where id in (select id from recorded))
   select recorded.id, r.automation_id as "automationId", r.key_id as "keyId", r.is_test as "isTest",
          (select model from run_step s where s.run_id = r.id and s.position = :position) as model
     from recorded join run r on r.id = recorded.id`,
});

/** @returns false when the step is over, or when another attempt recorded an answer before */
export async function recordRound(
  scope: Scope,
  { runId, position }: StepRef,
  round: number,
  answer: AskedRound,
  tokens: number,
): Promise<boolean> {
  const content = JSON.stringify(answer);
  // Recorded before, it is found by the next execution of the step.
  const given = { runId, position, round, content, tokens };
  return (await recordPatiently(() => scope.one(insertRound, given))) !== undefined;
}

const findCall = statement({
  name: 'run_step.find_call',
  parameters: { runId: 'uuid', position: 'int', round: 'smallint' },
  row: { tools: 'text', content: 'text' },
  text: `select offered.content as tools, asked.content
     from run_step_round asked
     join run_step_round offered on offered.run_id = asked.run_id and offered.position = asked.position and offered.round = 0
    where asked.organization_id = :organizationId and asked.environment = :environment and asked.run_id = :runId and asked.position = :position
      and asked.round = :round`,
});

/** A call that a model asked for, and the tool that it names. Undefined if the run was deleted. */
export async function findStepCall(
  scope: Scope,
  { runId, position, round, call }: StepCallRef,
): Promise<{ asked: AskedCall; tool: DeclaredTool } | undefined> {
  const row = await scope.one(findCall, { runId, position, round });
  if (!row) return undefined;
  const asked = (JSON.parse(row.content) as AskedRound).calls[call];
  const tool = asked && (JSON.parse(row.tools) as DeclaredTool[]).find(({ name }) => name === asked.name);
  return tool && { asked, tool };
}

// Committed before the tool is called: whatever crashes then, the next attempt knows of this one.
const begin = statement({
  name: 'run_step.begin_call',
  parameters: { runId: 'uuid', position: 'int', round: 'smallint', call: 'smallint', name: 'text', args: 'text?' },
  row: { attempts: 'smallint' },
  text: `insert into run_step_call as c (run_id, position, round, call, organization_id, environment, name, args, attempts)
   select s.run_id, s.position, :round, :call, :organizationId, :environment, :name, :args, 1 ${running}
   on conflict (run_id, position, round, call) do update set attempts = c.attempts + 1 where c.result is null
   returning attempts`,
});

/** @returns the number of this attempt; undefined when the step is over or the call has its result */
export async function beginCall(
  scope: Scope,
  { runId, position, round, call }: StepCallRef,
  { name, args }: AskedCall,
): Promise<number | undefined> {
  const kept = storable(args);
  const json = kept && kept.bytes <= keptArguments ? kept.json : null;
  return (await scope.one(begin, { runId, position, round, call, name, args: json }))?.attempts;
}

const record = statement({
  name: 'run_step.record_result',
  parameters: {
    runId: 'uuid',
    position: 'int',
    round: 'smallint',
    call: 'smallint',
    result: 'text',
    isError: 'boolean',
    ...auditParameters,
  },
  text: `with recorded as (
     update run_step_call set result = :result, is_error = :isError
      where organization_id = :organizationId and environment = :environment and run_id = :runId and position = :position and round = :round and call = :call
        and result is null)
   select ${auditSql} as audited`,
});

/** Keeps the result of a call, and writes the call to the audit log, also where the step is over. */
export async function recordResult(
  scope: Scope,
  { runId, position, round, call }: StepCallRef,
  { result: { text, isError }, entry }: CalledTool,
): Promise<void> {
  const result = storable(text)!.value as string;
  await scope.rows(record, { runId, position, round, call, result, isError, ...scope.auditValues(entry) });
}

// The table has the steps that are under way, and those that ended since the last call.
const forget = systemStatement({
  name: 'run_step.forget_rounds',
  parameters: { limit: 'int' },
  row: { count: 'int' },
  text: `with ended as (
     select r.run_id, r.position, r.round from run_step_round r
      where not exists (select from run_step s
                         where s.run_id = r.run_id and s.position = r.position and s.status = 'running')
      limit :limit),
   gone as (
     delete from run_step_round r using ended
      where r.run_id = ended.run_id and r.position = ended.position and r.round = ended.round
     returning 1)
   select count(*)::int as count from gone`,
});

/**
 * Removes the recorded offers and requests of the models of steps some time after the steps have ended in any way, of
 * all tenants. The calls themselves are part of the steps' results and stay.
 * @returns how many entries
 */
export function forgetRounds(database: Database): Promise<number> {
  const sql = sqlOn(database.pool);
  return inBatches(async (limit) => (await sql.one(forget, { limit }))!.count, 500);
}

import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { type RowOf, statement } from '../../platform/database/sql.ts';
import type { MatchCandidate, Matched } from '../bounded/match-event.ts';
import { maxChain } from '../core/event-names.ts';
import { type InputDefinition, resolveInputs } from '../core/inputs.ts';
import { failPoint } from '../fail-points.ts';
import { type DayServices, takeRunsOfDay } from '../starts/day-window.ts';
import { chainOf } from './chains.ts';
import { eventValueOf, type MatchServices } from './event-value.ts';
import { advance, type claimOpen, findTriggers, findWaits, releaseLease } from './events-sql.ts';
import { lookBack } from './look-back.ts';
import { matchCandidates } from './match.ts';
import { resolveWaits } from './resolve-waits.ts';
import { candidatesOf, groupsOf } from './wait-values.ts';

export interface DecideServices extends MatchServices, DayServices {}

type ClaimedEvent = RowOf<typeof claimOpen>;

/** Waits and triggers that the answer of an event counts. */
const maxAnswered = 1_000;
/** The waits and triggers that one step decides. */
const perStep = 100;
/** Triggers that are matched together: each may make variables of 256 KiB. */
const triggersTogether = 10;

const nilId = '00000000-0000-0000-0000-000000000000';

const addStart = statement({
  name: 'event_start.insert',
  parameters: { eventId: 'uuid', triggers: 'uuid[]', automations: 'uuid[]', variables: 'text[]' },
  row: { triggerId: 'uuid' },
  text: `
    insert into event_start (event_id, automation_id, organization_id, environment, trigger_id, variables)
    select :eventId, t.automation_id, :organizationId, :environment, t.trigger_id, t.variables::json
      from unnest(:triggers, :automations, :variables) as t (trigger_id, automation_id, variables)
     where exists (select from event_trigger where id = t.trigger_id)
    on conflict (event_id, automation_id) do nothing
    returning trigger_id as "triggerId"`,
});

export const noteSkips = statement({
  name: 'event_trigger.note_skips',
  parameters: { ids: 'uuid[]', reasons: 'text[]' },
  text: `
    update event_trigger t set last_skipped_at = atelier_now(), last_skipped_reason = s.reason
      from unnest(:ids, :reasons) as s (id, reason)
     where t.organization_id = :organizationId and t.environment = :environment and t.id = s.id`,
});

interface Start {
  triggerId: string;
  automationId: string;
  /** JSON. */
  variables: string;
}

interface Decisions {
  /** Ids of waits that match. */
  resume: string[];
  starts: Start[];
  skips: { triggerId: string; reason: string }[];
}

type Candidate = ({ kind: 'wait' } & RowOf<typeof findWaits>) | ({ kind: 'trigger' } & RowOf<typeof findTriggers>);

/** The next waits and triggers of an event, oldest first. */
async function nextCandidates(scope: Scope, event: ClaimedEvent): Promise<Candidate[]> {
  const page = { eventId: event.id, afterId: event.afterId ?? nilId, untilId: event.untilId, max: perStep };
  const [waits, triggers] = await Promise.all([scope.rows(findWaits, page), scope.rows(findTriggers, page)]);
  const all: Candidate[] = [
    ...waits.map((wait): Candidate => Object.assign(wait, { kind: 'wait' as const })),
    ...triggers.map((trigger): Candidate => Object.assign(trigger, { kind: 'trigger' as const })),
  ];
  return all.sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, perStep);
}

/** Decides an event: a step at a time, as long as it has the lease. */
export class EventDecision {
  readonly #services: DecideServices;
  readonly #scope: Scope;
  readonly #event: ClaimedEvent;
  readonly #lease: string;
  #chain: string[] | undefined;

  constructor(services: DecideServices, scope: Scope, event: ClaimedEvent, lease: string) {
    this.#services = services;
    this.#scope = scope;
    this.#event = event;
    this.#lease = lease;
  }

  /**
   * Continues until the answer is known, or for one step.
   * @returns false when another process has taken the event over
   */
  async run(until: 'answer' | 'step'): Promise<boolean> {
    try {
      return await this.#run(until);
    } catch (error) {
      const leased = { id: this.#event.id, lease: this.#lease };
      await this.#scope.rows(releaseLease, leased).catch(() => {});
      throw error;
    }
  }

  async #run(until: 'answer' | 'step'): Promise<boolean> {
    for (;;) {
      const candidates = await nextCandidates(this.#scope, this.#event);
      const decisions = await this.#decide(candidates);
      failPoint('event.matched');
      const looked = candidates.length;
      this.#event.lookedAt += looked;
      // What an earlier event of the name leaves is decided after it.
      const isAtEnd = looked < perStep;
      const isComplete = isAtEnd && this.#event.untilId === null;
      const isAnswered = isAtEnd || this.#event.lookedAt >= maxAnswered;
      const isOver = isAtEnd || isAnswered || until === 'step';
      const afterId = (isAtEnd && this.#event.untilId) || (candidates.at(-1)?.id ?? null);
      const ownsRun = await this.#commit(decisions, { afterId, looked, isAnswered, isComplete, isReleased: isOver });
      failPoint('event.decided');
      if (!ownsRun) return false;
      if (isOver) return true;
      this.#event.afterId = afterId ?? this.#event.afterId;
    }
  }

  async #decide(candidates: readonly Candidate[]): Promise<Decisions> {
    const decisions: Decisions = { resume: [], starts: [], skips: [] };
    if (candidates.length === 0) return decisions;
    const chain = await this.#chainOfEvent();
    const skip = (triggerId: string, reason: string) => decisions.skips.push({ triggerId, reason });
    const isLoop = (automationId: string) => chain.length > maxChain || chain.includes(automationId);

    const left: Candidate[] = [];
    for (const candidate of candidates) {
      const { id, automationId } = candidate;
      if (candidate.kind === 'trigger') {
        // Before the filter: what never fires costs nothing.
        if (isLoop(automationId)) skip(id, 'loop');
        else if (candidate.state !== 'active') skip(id, 'workflow_inactive');
        else left.push(candidate);
      } else if (isLoop(automationId)) continue;
      else if (candidate.isLookingBack) await lookBack(this.#services, this.#scope, id);
      else left.push(candidate);
    }
    const matched = await this.#match(left);
    for (const [index, candidate] of left.entries()) {
      const { matches, hasFailed, variables = {} } = matched[index]!;
      if (candidate.kind === 'wait') {
        if (matches) decisions.resume.push(candidate.id);
      } else if (hasFailed) skip(candidate.id, 'expression_error');
      else if (matches) await this.#start(decisions, candidate, variables);
    }
    return decisions;
  }

  async #chainOfEvent(): Promise<string[]> {
    this.#chain ??= await chainOf(this.#scope, this.#event);
    return this.#chain;
  }

  /** The data for the expressions of waits is read a group at a time. */
  async #match(candidates: readonly Candidate[]): Promise<Matched[]> {
    const { boundedWork, files, events } = this.#services;
    const value = eventValueOf(events, this.#event);
    const matched = new Map<string, Matched>();
    const match = (asked: MatchCandidate[]) => matchCandidates(boundedWork, this.#scope.tenantKey, value, asked);
    const waits = candidates.filter((one) => one.kind === 'wait');
    for (const group of await groupsOf(this.#scope, waits)) {
      const asked = await candidatesOf(files, this.#scope, group);
      const different = [...new Set(asked.values())];
      const found = await match(different);
      const outcomes = new Map(different.map((one, index) => [one, found[index]!]));
      for (const [id, one] of asked) matched.set(id, outcomes.get(one)!);
    }
    const triggers = candidates.filter((one) => one.kind === 'trigger');
    for (let at = 0; at < triggers.length; at += triggersTogether) {
      const some = triggers.slice(at, at + triggersTogether);
      const found = await match(
        some.map(({ filter, inputs }) => ({
          ...(filter !== null && { condition: { kind: 'filter' as const, source: filter } }),
          inputs: inputs === null ? {} : (JSON.parse(inputs) as Record<string, string>),
        })),
      );
      for (const [index, { id }] of some.entries()) matched.set(id, found[index]!);
    }
    return candidates.map(({ id }) => matched.get(id)!);
  }

  async #start(
    decisions: Decisions,
    { id: triggerId, automationId, definitions }: Candidate & { kind: 'trigger' },
    given: Record<string, unknown>,
  ): Promise<void> {
    // Several triggers of a workflow that match start one run.
    if (decisions.starts.some((start) => start.automationId === automationId)) return;
    const { problems } = resolveInputs(JSON.parse(definitions) as InputDefinition[], given);
    if (problems.length > 0) decisions.skips.push({ triggerId, reason: 'validation_error' });
    else if (!(await takeRunsOfDay(this.#services, this.#scope)))
      decisions.skips.push({ triggerId, reason: 'rate_limit_exceeded' });
    else decisions.starts.push({ triggerId, automationId, variables: JSON.stringify(given) });
  }

  async #commit(
    { resume, starts, skips }: Decisions,
    progress: { afterId: string | null; looked: number; isAnswered: boolean; isComplete: boolean; isReleased: boolean },
  ): Promise<boolean> {
    const { id } = this.#event;
    return this.#scope
      .transaction(async (tx) => {
        if (resume.length > 0)
          await resolveWaits(tx, resume, this.#event, eventValueOf(this.#services.events, this.#event));
        const started = starts.length === 0 ? [] : await addStarts(tx, id, starts);
        if (skips.length > 0) {
          const [ids, reasons] = [skips.map(({ triggerId }) => triggerId), skips.map(({ reason }) => reason)];
          await tx.rows(noteSkips, { ids, reasons });
        }
        const moved = await tx.one(advance, { id, lease: this.#lease, started: started.length, ...progress });
        if (!moved) throw new TakenOver();
        return true;
      })
      .catch((error) => {
        if (error instanceof TakenOver) return false;
        throw error;
      });
  }
}

class TakenOver extends Error {}

const addStarts = (tx: Transaction, eventId: string, starts: readonly Start[]) =>
  tx.rows(addStart, {
    eventId,
    triggers: starts.map(({ triggerId }) => triggerId),
    automations: starts.map(({ automationId }) => automationId),
    variables: starts.map(({ variables }) => variables),
  });

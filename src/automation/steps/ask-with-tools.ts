import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { ProviderFailure } from '../../platform/provider-failure.ts';
import type { ChatAnswer, ProviderRegistry } from '../../providers/index.ts';
import { maxRounds } from '../../tools/core/rounds.ts';
import { askRound, type DeclaredTool, type RecordedRound, type Round, toExecute } from '../../tools/index.ts';
import type { AskedModel } from '../core/run-status.ts';
import type { ModelChoice } from '../core/steps.ts';
import { failPoint } from '../fail-points.ts';
import {
  type Answer,
  askModels,
  callOnce,
  callUnseen,
  fitToSchema,
  type ModelCall,
  type Question,
  StepFailure,
  tokensOf,
} from './ask-model.ts';
import { readToolUse, recordRound, type StepRef } from './tool-rounds.ts';

export interface AskServices {
  providers: ProviderRegistry;
  boundedWork: BoundedWork;
}

/**
 * Calls of tools to execute before the model is asked again. In round 0 the tools of the servers must be listed first.
 */
export type ToolCalls = RecordedRound;

/** Bytes of arguments and results that the steps of one run keep together. */
const maxKeptBytes = 16 * 1024 * 1024;

/** Calls that have no result yet, because their activity or the activity of their request was interrupted. */
const unanswered = ({ round, calls, content, text, results }: Round, tools: readonly DeclaredTool[]): ToolCalls => ({
  round,
  calls: toExecute({ calls, content, text }, tools).filter((call) => !results.has(call)),
});

const nothingSaid = () => new ProviderFailure('malformed_answer', 'The model answered nothing.');

/** The answer that ends the step. With an output schema, the model is called again for JSON unless the answer fits already. */
async function answerOf(
  { boundedWork, providers }: AskServices,
  { environment }: Scope['tenant'],
  asked: ModelChoice,
  { request }: Question,
  call: ModelCall,
  answer: ChatAnswer,
): Promise<Answer> {
  const model = providers.textModel(environment, asked.provider, asked.model);
  return fitToSchema(boundedWork, model, asked, { ...request, ...asked }, call, answer);
}

/**
 * Calls the model of a step with tools once: it answers, or calls tools, which is recorded. The tools of the servers are listed
 * before the first call. Once a model has called tools no fallback is used, because only its own provider accepts its earlier
 * answers. After the last round, or when the time for tools is over, it is offered no tools. Safe to repeat: a recorded answer
 * is not requested again.
 * @param models receives every model that was called, with its failure
 * @throws ProviderFailure, StepFailure and the reason of the signal, as `askModels`
 */
export async function askWithTools(
  services: AskServices,
  scope: Scope,
  { mayCallTools, ...ref }: StepRef & { mayCallTools: boolean },
  question: Question,
  call: Omit<ModelCall, 'tenantKey'>,
  models: AskedModel[],
  onFailure: (asked: ModelChoice, failure: ProviderFailure) => void,
): Promise<Answer | ToolCalls> {
  const { offered, rounds, keptBytes } = await readToolUse(scope, ref);
  if (!offered) return { round: 0, calls: [] };
  if ('unavailable' in offered) throw new StepFailure('service_unavailable', offered.unavailable);
  const tools = offered;
  const last = rounds.at(-1);
  const missing = last && unanswered(last, tools);
  if (missing && missing.calls.length > 0) return missing;
  if (keptBytes > maxKeptBytes) {
    throw new StepFailure('output_too_large', `The calls of tools of this run have more than ${maxKeptBytes} bytes.`);
  }
  const mayCall = mayCallTools && rounds.length < maxRounds && tools.length > 0;
  const { prompt, outputSchema: _, ...settings } = question.request;
  const ask = async (asked: ModelChoice, of: ModelCall): Promise<Answer | (ToolCalls & { asked: ModelChoice })> => {
    const model = services.providers.chatModel(scope.tenant.environment, asked.provider, asked.model);
    const asking = { ...settings, ...asked };
    const taken = await askRound(
      { rounds, tools, mayCall },
      ({ messages, tools }) =>
        model.reply(
          { ...asking, messages: [{ role: 'user', text: prompt }, ...messages], ...(tools && { tools }) },
          // Text beside calls is not part of the answer, and only the end of the answer shows whether there are calls.
          tools ? callUnseen(of) : callOnce(of),
        ),
      async (round, answer, whole) => {
        failPoint('step.called');
        if (!(await recordRound(scope, ref, round, { ...answer, asked }, tokensOf(whole)))) return undefined;
        failPoint('step.round_recorded');
        return answer;
      },
    );
    // The step has ended, or another attempt, which was assumed dead, was faster: the next execution of the run finds
    // out.
    if (!taken) return { asked, round: rounds.length + 1, calls: [] };
    if ('calls' in taken) return { asked, ...taken };
    const { answer } = taken;
    if (answer.text.trim() === '' && rounds.length === 0) throw nothingSaid();
    return answerOf(services, scope.tenant, asked, question, of, answer);
  };
  const candidates: Question['candidates'] = last ? [last.asked] : question.candidates;
  return askModels(scope.tenantKey, { ...question, candidates }, call, models, onFailure, ask);
}

import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { type FieldError, invalid } from '../../platform/errors.ts';
import type { StepKinds } from '../../platform/parts/step-kind.ts';
import type { TenantKey } from '../../platform/security/tenant-key.ts';
import type { ProviderRegistry } from '../../providers/index.ts';
import type { Tools } from '../../tools/index.ts';
import { findStepProblems } from '../core/check-steps.ts';
import { findSizeProblem, type PlacedStep, placedSteps } from '../core/definition-tree.ts';
import { workflowIds } from '../core/ids.ts';
import { findDefinitionProblems, type InputDefinition } from '../core/inputs.ts';
import { isTemplated } from '../core/payload.ts';
import type { Concurrency } from '../core/starts.ts';
import { findReferenceFindings, maxWorkflowWarnings, type WorkflowWarning } from '../core/step-references.ts';
import { isOfFeature } from '../core/step-types.ts';
import { maxSteps, type Step } from '../core/steps.ts';
import { findMissingSecrets } from '../secrets/secrets.ts';
import { fieldsOf } from '../steps/perform-step.ts';
import { checkContents, checkExpression } from '../steps/step-contents.ts';
import { findWorkflowNames } from './workflow-names.ts';

/** Checks workflows when they are saved. */
export interface CheckServices {
  boundedWork: BoundedWork;
  providers: Pick<ProviderRegistry, 'isListed'>;
  tools: Pick<Tools, 'findProblems'>;
  stepKinds: Pick<StepKinds, 'check'>;
}

function unlistedModels(
  { isListed }: CheckServices['providers'],
  aiModel: string | undefined,
  placed: readonly PlacedStep[],
): WorkflowWarning[] {
  const named = placed.flatMap(({ step, at: place }) => {
    if (step.type !== 'prompt') return [];
    const fallbacks = (step.fallback ?? []).map(
      ({ model }, at) => [`steps.${place}.fallback.${at}.model`, model] as const,
    );
    return [[`steps.${place}.model`, step.model] as const, ...fallbacks];
  });
  return [['aiModel', aiModel] as const, ...named].flatMap(([path, model]) =>
    model === undefined || isListed(model)
      ? []
      : [
          {
            path,
            code: 'unknown_model' as const,
            message: 'This model is not in the list of models. Its provider is called with this name.',
          },
        ],
  );
}

const serversOf = ({ step, at }: PlacedStep) =>
  step.type === 'prompt' && step.tools ? [{ serverIds: step.tools, path: `steps.${at}.tools` }] : [];

/** What depends on the values of a run is checked when the step is executed. */
function featureProblems(kinds: CheckServices['stepKinds'], { step, at }: PlacedStep): FieldError[] {
  if (!isOfFeature(step)) return [];
  const { payload } = step;
  return kinds
    .check(step.type, fieldsOf(step))
    .filter(({ path }) => path.split('.')[0] !== 'payload' || !isTemplated({ payload }, path))
    .map(({ path, message }) => ({ path: `steps.${at}.${path}`, message }));
}

/** A key sees the values that a run is started with, but not its steps. */
async function keyProblems(work: BoundedWork, tenantKey: TenantKey, source?: string): Promise<FieldError[]> {
  if (source === undefined) return [];
  const checked = await checkExpression(work, tenantKey, source, 'transform');
  const problem = 'problem' in checked ? checked.problem : checked.steps.length > 0 && 'The key sees no steps.';
  return problem ? [{ path: 'concurrency.key', message: problem }] : [];
}

/** Secrets that steps send and that do not exist: such a step fails until they do. */
async function missingSecrets(scope: Scope, placed: readonly { step: Step; at: string }[]): Promise<WorkflowWarning[]> {
  const named = placed.flatMap(({ step, at }) =>
    step.type === 'http'
      ? Object.entries(step.secretHeaders ?? {}).map(([header, name]) => ({
          path: `steps.${at}.secretHeaders.${header}`,
          name,
        }))
      : [],
  );
  const missing = new Set(
    await findMissingSecrets(
      scope,
      named.map(({ name }) => name),
    ),
  );
  return named
    .filter(({ name }) => missing.has(name))
    .map(({ path, name }) => ({ path, code: 'missing_secret', message: `No secret has the name ${name}.` }));
}

/** Workflows that steps start and that do not exist: such a step fails until they do. */
async function unknownWorkflows(scope: Scope, placed: readonly PlacedStep[]): Promise<WorkflowWarning[]> {
  const named = placed.flatMap(({ step, at }) =>
    step.type === 'workflow'
      ? [{ path: `steps.${at}.workflowId`, given: step.workflowId, id: workflowIds.parse(step.workflowId) }]
      : [],
  );
  const names = await findWorkflowNames(
    scope,
    named.flatMap(({ id }) => id ?? []),
  );
  return named
    .filter(({ id }) => id === undefined || !names.has(id))
    .map(({ path, given }) => ({
      path,
      code: 'unknown_workflow',
      message: `No workflow has the id ${given.slice(0, 100)}.`,
    }));
}

interface CheckedFields {
  steps?: Step[] | undefined;
  inputs?: InputDefinition[] | undefined;
  aiModel?: string | undefined;
  concurrency?: Concurrency | null | undefined;
}

/**
 * Checks the given fields of a workflow.
 * @returns what is saved but is probably not meant. @throws AppError validation_error with what can never work
 */
export async function checkAutomation(
  { boundedWork, providers, tools, stepKinds }: CheckServices,
  scope: Scope,
  { steps = [], inputs = [], aiModel, concurrency }: CheckedFields,
): Promise<WorkflowWarning[]> {
  const tooLarge = findSizeProblem(steps, maxSteps);
  if (tooLarge)
    throw invalid([{ path: ['steps', tooLarge.path].filter(Boolean).join('.'), message: tooLarge.message }]);
  const placed = placedSteps(steps);
  const contents = await checkContents(boundedWork, scope.tenantKey, placed);
  const references = findReferenceFindings(placed, contents.references);
  const ofSteps = [...findStepProblems(steps), ...contents.problems, ...references.problems];
  const problems = [
    ...ofSteps.map(({ path, message }) => ({ path: `steps.${path}`, message })),
    ...placed.flatMap((one) => featureProblems(stepKinds, one)),
    ...(await tools.findProblems(scope, placed.flatMap(serversOf))),
    ...(await keyProblems(boundedWork, scope.tenantKey, concurrency?.key)),
    ...findDefinitionProblems(inputs).map(({ path, message }) => ({ path: `inputs.${path}`, message })),
  ];
  if (problems.length > 0) throw invalid(problems);
  return [
    ...references.warnings,
    ...unlistedModels(providers, aiModel, placed),
    ...(await missingSecrets(scope, placed)),
    ...(await unknownWorkflows(scope, placed)),
  ].slice(0, maxWorkflowWarnings);
}

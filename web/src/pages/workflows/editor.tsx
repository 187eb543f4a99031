import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useDeferredValue, useState } from 'react';
import { exampleOf } from '../../api/example.ts';
import { Button } from '../../components/button.tsx';
import { RequestExample } from '../../components/code.tsx';
import { useDraft } from '../../components/draft.ts';
import { Problem } from '../../components/problem.tsx';
import { notify } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useSession } from '../../session/context.tsx';
import { type EditorProblem, JsonEditor } from './json-editor.tsx';
import type { StepDefinition } from './step-fields.ts';
import { DefinitionForms } from './step-list.tsx';
import type { WorkflowWithInputs } from './variables-input.tsx';

interface Definition extends Record<string, unknown> {
  steps: StepDefinition[];
}

/** The members of a workflow that the editor shows, as one document. */
const definitionOf = (workflow: WorkflowWithInputs): Definition => {
  const { aiModel, aiProvider, config, inputs, steps, concurrency, maxDurationSeconds } = workflow;
  return JSON.parse(
    JSON.stringify({ aiModel, aiProvider, config, inputs, concurrency, maxDurationSeconds, steps }),
  ) as Definition;
};

/** What a member becomes that is removed from the document. The others keep their value. */
const removedMembers: Record<string, unknown> = { config: {}, inputs: [], concurrency: null, maxDurationSeconds: null };

/** What a save of the document changes. */
function changeOf(workflow: WorkflowWithInputs, definition: Definition): Record<string, unknown> {
  const isRemoved = ([name]: [string, unknown]) => name in definitionOf(workflow) && !(name in definition);
  return { ...Object.fromEntries(Object.entries(removedMembers).filter(isRemoved)), ...definition };
}

const pretty = (value: unknown) => JSON.stringify(value, null, 2);

/** @returns the document, or why the text is none */
function read(text: string): { definition?: Definition; problem?: string } {
  try {
    const definition = JSON.parse(text) as Definition;
    if (!Array.isArray(definition?.steps)) return { problem: 'The document needs a list of steps.' };
    return { definition };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}

/** Edits that are not saved, with the version that they began from. */
interface Edits {
  text: string;
  version: number;
}

/**
 * Edits a definition, as forms or as JSON: both are views of one document. It is validated while it is edited, and the
 * edits survive a reload of the page. If another version was saved in the meantime, they stay, and the person decides.
 */
export function Editor({ workflow }: { workflow: WorkflowWithInputs }) {
  const { api, environment, key, may } = useSession();
  const queries = useQueryClient();
  const saved = pretty(definitionOf(workflow));
  const [edits, setEdits, forgetEdits] = useDraft<Edits | null>(`workflow.${workflow.id}`, null);
  const text = edits?.text ?? saved;
  const version = edits?.version ?? workflow.version;
  const setText = (next: string) => setEdits({ text: next, version });
  const [isJson, setJson] = useState(false);
  const { definition, problem } = read(text);
  const validated = useDeferredValue(text);
  const validation = useQuery({
    queryKey: key('validation', workflow.id, validated),
    queryFn: ({ signal }) =>
      api.workflows.validate({ name: workflow.name, ...(JSON.parse(validated) as Definition) }, { signal }),
    enabled: may('member') && validated !== saved && read(validated).definition !== undefined,
    placeholderData: (previous) => previous,
  });
  const problems: EditorProblem[] = problem
    ? [{ path: '', message: problem }]
    : validated === saved
      ? []
      : [
          ...(validation.data?.errors ?? []),
          ...(validation.data?.warnings ?? []).map((warning) => ({ ...warning, isWarning: true })),
        ];
  const body = { ...(definition && changeOf(workflow, definition)), expectedVersion: version };
  const discard = () => {
    setEdits(null);
    forgetEdits();
  };
  const save = useAction(async () => {
    await api.workflows.update(workflow.id, body as never);
    notify('Saved.');
    await queries.invalidateQueries({ queryKey: key('workflow', workflow.id) });
    discard();
    await queries.invalidateQueries({ queryKey: key('versions', workflow.id) });
  });
  const isReadOnly = !may('member');
  const isOutdated = text !== saved && version !== workflow.version && !save.isBusy;
  return (
    <>
      <div className="mb-3 flex flex-wrap items-center gap-2">
        <Button aria-pressed={!isJson} look={isJson ? 'secondary' : 'primary'} onClick={() => setJson(false)}>
          Forms
        </Button>
        <Button aria-pressed={isJson} look={isJson ? 'primary' : 'secondary'} onClick={() => setJson(true)}>
          JSON
        </Button>
        {!isReadOnly && (
          <span className="ml-auto flex gap-2">
            {text !== saved && <Button onClick={discard}>Discard changes</Button>}
            <Button
              look="primary"
              disabled={definition === undefined || text === saved || isOutdated}
              isBusy={save.isBusy}
              onClick={() => void save.run()}
            >
              Save
            </Button>
          </span>
        )}
      </div>
      {save.error !== undefined && <Problem error={save.error} />}
      {isOutdated && (
        <p role="alert" className="text-warn">
          Version {workflow.version} was saved after you began to edit version {version}.{' '}
          <Button onClick={() => setEdits({ text, version: workflow.version })}>Keep my changes in place of it</Button>
        </p>
      )}
      {isJson || !definition ? (
        <JsonEditor label="Definition" text={text} onChange={setText} problems={problems} isReadOnly={isReadOnly} />
      ) : (
        <fieldset disabled={isReadOnly} className="m-0 border-0 p-0">
          <ProblemList problems={problems} />
          <DefinitionForms steps={definition.steps} onChange={(steps) => setText(pretty({ ...definition, steps }))} />
        </fieldset>
      )}
      {!isReadOnly && definition && text !== saved && (
        <RequestExample
          {...exampleOf(
            {
              method: 'PATCH',
              path: `/api/v1/workflows/${workflow.id}`,
              body,
              call: `workflows.update('${workflow.id}', ${JSON.stringify(body)})`,
            },
            environment,
          )}
        />
      )}
    </>
  );
}

/** The same problems beside the forms. */
function ProblemList({ problems }: { problems: readonly EditorProblem[] }) {
  return (
    <ul aria-label="Problems" aria-live="polite" className="m-0 list-none p-0">
      {problems.map(({ path, message, isWarning }) => (
        <li key={`${path} ${message}`} className={isWarning ? 'text-warn' : 'text-bad'}>
          <code className="font-mono text-xs">{path}</code> {message}
        </li>
      ))}
    </ul>
  );
}

import { useId, useRef } from 'react';
import { lineOf, linesOf } from './json-lines.ts';

export interface EditorProblem {
  path: string;
  message: string;
  isWarning?: boolean;
}

interface JsonEditorProps {
  label: string;
  text: string;
  onChange(text: string): void;
  problems?: readonly EditorProblem[];
  isReadOnly?: boolean;
  rows?: number;
}

/** A text of JSON with the numbers of its lines. Each problem names its line, and a click on it leads there. */
export function JsonEditor({ label, text, onChange, problems = [], isReadOnly = false, rows = 24 }: JsonEditorProps) {
  const id = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  const gutter = useRef<HTMLPreElement>(null);
  const lines = linesOf(text);
  const placed = problems.map((problem) => ({ ...problem, line: lineOf(lines, problem.path) }));
  const marked = new Map(placed.map(({ line, isWarning = false }) => [line, isWarning]));
  const count = text.split('\n').length;
  const goTo = (line: number) => {
    const field = area.current!;
    const start =
      text
        .split('\n')
        .slice(0, line - 1)
        .join('\n').length + (line > 1 ? 1 : 0);
    const end = text.indexOf('\n', start);
    field.focus();
    field.setSelectionRange(start, end < 0 ? text.length : end);
    field.scrollTop = (line - 3) * Number.parseFloat(getComputedStyle(field).lineHeight);
  };
  return (
    <div>
      <label htmlFor={id} className="sr-only">
        {label}
      </label>
      <div className="flex overflow-hidden rounded-md border border-line bg-surface font-mono text-xs leading-5">
        <pre
          ref={gutter}
          aria-hidden="true"
          className="m-0 w-12 shrink-0 overflow-hidden bg-raised py-2 pr-2 text-right text-muted"
          style={{ height: `${rows * 1.25 + 1}rem` }}
        >
          {Array.from({ length: count }, (_, index) => (
            <span
              key={index}
              className={
                marked.has(index + 1) ? (marked.get(index + 1) ? 'font-bold text-warn' : 'font-bold text-bad') : ''
              }
            >
              {index + 1}
              {'\n'}
            </span>
          ))}
        </pre>
        <textarea
          ref={area}
          id={id}
          value={text}
          readOnly={isReadOnly}
          spellCheck={false}
          aria-invalid={placed.some(({ isWarning }) => !isWarning)}
          wrap="off"
          className="w-full resize-none overflow-auto bg-transparent py-2 pl-2 leading-5 text-ink"
          style={{ height: `${rows * 1.25 + 1}rem` }}
          onChange={({ target }) => onChange(target.value)}
          onScroll={({ currentTarget }) => {
            gutter.current!.scrollTop = currentTarget.scrollTop;
          }}
        />
      </div>
      <Problems problems={placed} onGoTo={goTo} />
    </div>
  );
}

function Problems({
  problems,
  onGoTo,
}: {
  problems: readonly (EditorProblem & { line: number })[];
  onGoTo(line: number): void;
}) {
  if (problems.length === 0) return null;
  return (
    <ul aria-label="Problems" className="mt-2 list-none p-0">
      {problems.map(({ path, message, line, isWarning }) => (
        <li key={`${path} ${message}`} className="py-0.5">
          <button
            type="button"
            onClick={() => onGoTo(line)}
            className={`text-left underline ${isWarning ? 'text-warn' : 'text-bad'}`}
          >
            Line {line}
          </button>{' '}
          <code className="font-mono text-xs">{path}</code> {message}
        </li>
      ))}
    </ul>
  );
}

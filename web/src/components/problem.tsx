interface ShownError {
  message: string;
  code?: string | null;
  requestId?: string | null;
  errors?: { path?: string | number | readonly (string | number)[]; message: string }[];
}

const pathOf = (path: NonNullable<ShownError['errors']>[number]['path']) =>
  Array.isArray(path) ? path.join('.') : String(path ?? '');

/** An error of the API or of the connection, with the id of its request. */
export function Problem({ error, retry }: { error: unknown; retry?: () => void }) {
  const { message, code, requestId, errors } = error as ShownError;
  return (
    <div role="alert" className="my-3 rounded-md border-l-4 border-bad bg-raised px-3 py-2">
      <p className="m-0 font-medium text-bad">{message || 'Something went wrong.'}</p>
      {errors && errors.length > 0 && (
        <ul className="my-1 list-disc pl-5">
          {errors.map((problem) => (
            <li key={`${pathOf(problem.path)} ${problem.message}`}>
              <code className="font-mono text-xs">{pathOf(problem.path)}</code> {problem.message}
            </li>
          ))}
        </ul>
      )}
      <p className="m-0 text-xs text-muted">
        {code && <code className="font-mono">{code}</code>}
        {requestId && (
          <>
            {' '}
            Request <code className="font-mono">{requestId}</code>
          </>
        )}
        {retry && (
          <button type="button" className="ml-2 underline" onClick={retry}>
            Try again
          </button>
        )}
      </p>
    </div>
  );
}

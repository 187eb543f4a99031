import { useQuery, useQueryClient } from '@tanstack/react-query';
import { ConfirmButton } from '../../components/confirm.tsx';
import { Copy } from '../../components/copy.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { SelectField } from '../../components/field.tsx';
import { useFilters, useShown } from '../../components/filters.ts';
import { Empty, Facts, Loading } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { Status } from '../../components/status.tsx';
import { Pager } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { notify } from '../../components/toast.tsx';
import { useSession } from '../../session/context.tsx';
import { Media } from './media.tsx';

const limit = 24;
const types = ['image', 'video', 'music'] as const;

/** The history of generations as pictures and players. */
export function Gallery() {
  const { api, key, may } = useSession();
  const queries = useQueryClient();
  const { filters, offset, set, setOffset } = useFilters(['type']);
  const [shown, show] = useShown('generation');
  const type = types.find((one) => one === filters.type);
  const history = useQuery({
    queryKey: key('generations', type, offset),
    queryFn: ({ signal }) => api.studio.generations.list({ ...(type && { type }), limit, offset }, { signal }).page(),
  });
  const remove = async (id: string) => {
    await api.studio.generations.delete(id);
    notify('The generation has been deleted.');
    await queries.invalidateQueries({ queryKey: key('generations') });
  };
  return (
    <>
      <div className="mb-4 max-w-60">
        <SelectField
          label="Type"
          isLabelHidden
          value={type ?? ''}
          onChange={({ target }) => set({ type: target.value || undefined })}
          options={[{ value: '', label: 'Every type' }, ...types.map((value) => ({ value, label: value }))]}
        />
      </div>
      {history.error && <Problem error={history.error} retry={() => void history.refetch()} />}
      {history.isPending && <Loading what="generations" />}
      {history.data?.total === 0 && (
        <Empty title="Nothing has been generated yet">Describe an image, a video or a piece of music.</Empty>
      )}
      {history.data && history.data.total > 0 && (
        <>
          <ul className="m-0 grid list-none grid-cols-[repeat(auto-fill,minmax(15rem,1fr))] gap-4 p-0">
            {history.data.items.map((item) => (
              <li key={item.id} className="rounded-lg border border-line bg-surface p-3">
                <Media type={item.type} url={item.url} description={item.prompt || `A generated ${item.type}`} />
                <p className="mt-2 mb-1 line-clamp-3" title={item.prompt}>
                  {item.prompt}
                </p>
                <p className="m-0 text-xs text-muted">
                  {item.model} · <Time at={item.createdAt} isRelative />
                </p>
                <div className="mt-2 flex items-center justify-between">
                  <Copy text={item.id} isShort />
                  {may('member') && (
                    <ConfirmButton
                      look="danger"
                      question="Delete this generation?"
                      consequence="Its file is deleted for good. Credits are not returned."
                      confirmLabel="Delete"
                      request={{
                        method: 'DELETE',
                        path: `/api/studio/generations/${item.id}`,
                        call: `studio.generations.delete('${item.id}')`,
                      }}
                      onConfirm={() => remove(item.id)}
                    >
                      Delete
                    </ConfirmButton>
                  )}
                </div>
              </li>
            ))}
          </ul>
          <Pager page={history.data} limit={limit} offset={offset} onOffset={setOffset} />
        </>
      )}
      <Dialog title="Generation" isOpen={shown !== undefined} onClose={() => show(undefined)} isWide>
        {shown !== undefined && <ShownGeneration id={shown} />}
      </Dialog>
    </>
  );
}

/** A generation of any type and status by its id: the gallery has only those that are completed. */
function ShownGeneration({ id }: { id: string }) {
  const { api, key } = useSession();
  const generation = useQuery({
    queryKey: key('generations', 'one', id),
    queryFn: ({ signal }) => api.studio.generations.get(id, { signal }),
    refetchInterval: ({ state }) => (state.data?.status === 'processing' ? 2_000 : false),
  });
  if (generation.error) return <Problem error={generation.error} retry={() => void generation.refetch()} />;
  if (!generation.data) return <Loading what="the generation" />;
  const { type, status, url, prompt, model, createdAt, creditsUsed, error } = generation.data;
  const name = type.replaceAll('_', ' ');
  return (
    <>
      {url && <Media type={type} url={url} description={prompt || `A generated ${name}`} />}
      <p className="my-3">{prompt}</p>
      <Facts
        facts={[
          ['Status', <Status key="status" value={status} />],
          ['Type', name],
          ['Model', model ?? '–'],
          ['Credits', creditsUsed ?? '–'],
          ['Error', error ? `${error.code}: ${error.message}` : '–'],
          ['Created', <Time key="created" at={createdAt} />],
          ['Id', <Copy key="id" text={id} />],
        ]}
      />
    </>
  );
}

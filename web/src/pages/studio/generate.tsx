import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { exampleOf } from '../../api/example.ts';
import { ActionForm } from '../../components/action-form.tsx';
import { Button } from '../../components/button.tsx';
import { RequestExample } from '../../components/code.tsx';
import { counted } from '../../components/counted.ts';
import { useDraft } from '../../components/draft.ts';
import { SelectField, TextArea, TextField } from '../../components/field.tsx';
import { Section } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { useAction } from '../../components/use-action.ts';
import { useSession } from '../../session/context.tsx';
import { Media } from './media.tsx';

type Type = 'image' | 'video' | 'music';

const paths = { image: 'generate', video: 'generate-video', music: 'generate-music' };
const calls = { image: 'images', video: 'videos', music: 'music' };
const pollMs = 1_000;

interface Result {
  url?: string;
  creditsUsed?: number;
}

const cancelled = { message: 'The generation was cancelled.' };

/** The form of one type of generation, and its result. */
export function Generate({ type }: { type: Type }) {
  const { api, environment, key } = useSession();
  const queries = useQueryClient();
  const [prompt, setPrompt, forgetPrompt] = useDraft(`studio.${type}`, '');
  const [model, setModel] = useState('');
  const [aspectRatio, setAspectRatio] = useState('');
  const [quality, setQuality] = useState('');
  const [duration, setDuration] = useState('');
  const [result, setResult] = useState<Result>();
  const models = useQuery({
    queryKey: key('media-models'),
    queryFn: ({ signal }) => api.studio.models.get({ signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const offered = models.data?.models.filter((one) => one.type === type && one.available) ?? [];
  const chosen = offered.find(({ name }) => name === model) ?? offered[0];
  const body = {
    prompt,
    ...(model && { model }),
    ...(aspectRatio && { aspectRatio }),
    ...(quality && { quality }),
    ...(duration && { duration: Number(duration) }),
  };
  const generate = useAction(async () => {
    setResult(undefined);
    setResult(await make());
    forgetPrompt();
    await queries.invalidateQueries({ queryKey: key('generations') });
  });
  const make = async (): Promise<Result> => {
    if (type === 'video') {
      const { id } = await api.studio.videos.generate(body as never);
      const video = await api.studio.videos.wait(id, { timeoutMs: 30 * 60_000 });
      if (video.status === 'failed') throw video.error;
      if (video.status === 'cancelled') throw cancelled;
      return video;
    }
    const made = await (type === 'image'
      ? api.studio.images.generate(body as never)
      : api.studio.music.generate(body as never));
    if ('url' in made) return made;
    // It takes longer than a request may: its record says when it has ended.
    for (;;) {
      const record = await api.studio.generations.get(made.id);
      if (record.error) throw record.error;
      if (record.status === 'cancelled') throw cancelled;
      if (record.status !== 'processing') return record;
      await new Promise((resolve) => setTimeout(resolve, pollMs));
    }
  };
  const enhance = useAction(async () => {
    setPrompt((await api.studio.prompts.enhance({ prompt })).enhanced);
  });
  return (
    <div className="grid items-start gap-x-5 lg:grid-cols-2">
      <Section title={`Generate ${type === 'image' ? 'an image' : type === 'video' ? 'a video' : 'music'}`}>
        <ActionForm action={generate}>
          {enhance.error !== undefined && <Problem error={enhance.error} />}
          <TextArea
            label="Prompt"
            required
            rows={5}
            maxLength={chosen?.maxPromptLength}
            value={prompt}
            onChange={({ target }) => setPrompt(target.value)}
          />
          <div className="grid gap-x-3 md:grid-cols-2">
            <SelectField
              label="Model"
              value={model}
              onChange={({ target }) => setModel(target.value)}
              options={[{ value: '', label: 'Default' }, ...offered.map(({ name }) => ({ value: name, label: name }))]}
            />
            {type !== 'music' && (
              <SelectField
                label="Aspect ratio"
                value={aspectRatio}
                onChange={({ target }) => setAspectRatio(target.value)}
                options={[
                  { value: '', label: 'Default' },
                  ...(chosen?.aspectRatios ?? []).map((value) => ({ value, label: value })),
                ]}
              />
            )}
            {type === 'image' && (
              <SelectField
                label="Quality"
                value={quality}
                onChange={({ target }) => setQuality(target.value)}
                options={['', 'standard', 'high', 'ultra'].map((value) => ({ value, label: value || 'Default' }))}
              />
            )}
            {type !== 'image' && (
              <TextField
                label="Duration in seconds (optional)"
                type="number"
                min={type === 'video' ? 5 : 10}
                max={chosen?.maxDuration}
                value={duration}
                onChange={({ target }) => setDuration(target.value)}
              />
            )}
          </div>
          <div className="flex gap-2">
            <Button look="primary" type="submit" isBusy={generate.isBusy}>
              Generate
            </Button>
            <Button isBusy={enhance.isBusy} disabled={!prompt} onClick={() => void enhance.run()}>
              Improve the prompt
            </Button>
          </div>
          <RequestExample
            {...exampleOf(
              {
                method: 'POST',
                path: `/api/studio/${paths[type]}`,
                body,
                call: `studio.${calls[type]}.generate(${JSON.stringify(body)})`,
              },
              environment,
            )}
          />
        </ActionForm>
      </Section>
      <Section title="Result">
        <div aria-live="polite">
          {generate.isBusy && <p className="mt-0 text-muted">Generating…</p>}
          {result?.url && <Media type={type} url={result.url} description={prompt || `A generated ${type}`} />}
          {result?.creditsUsed !== undefined && (
            <p className="text-sm text-muted">{counted(result.creditsUsed, 'credit')}</p>
          )}
          {!generate.isBusy && !result && <p className="mt-0 text-muted">It appears here.</p>}
        </div>
      </Section>
    </div>
  );
}

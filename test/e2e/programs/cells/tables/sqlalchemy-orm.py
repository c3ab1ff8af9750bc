from sqlalchemy import ForeignKey, String, create_engine, func, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship


class Base(DeclarativeBase):
    pass


class Author(Base):
    __tablename__ = "author"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(50))
    books: Mapped[list["Book"]] = relationship(back_populates="author")

    def __repr__(self):
        return f"Author({self.name!r})"


class Book(Base):
    __tablename__ = "book"
    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str]
    author_id: Mapped[int] = mapped_column(ForeignKey("author.id"))
    author: Mapped[Author] = relationship(back_populates="books")


engine = create_engine("sqlite://")
Base.metadata.create_all(engine)
# %%
with Session(engine) as session:
    session.add_all([Author(name="Le Guin", books=[Book(title="The Dispossessed"), Book(title="Lavinia")]), Author(name="Lem")])
    session.commit()
    counts = session.execute(select(Author.name, func.count(Book.id)).outerjoin(Book).group_by(Author.name).order_by(Author.name)).all()
    authors = session.scalars(select(Author).order_by(Author.name)).all()
counts
# %%
authors
